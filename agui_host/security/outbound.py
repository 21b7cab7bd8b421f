"""The one way out to an address that a tenant chose: an HTTP client that checks each hop.

The name is resolved here, every address of it is checked, and the connection goes to exactly a
checked address: a later DNS answer does not matter. The check sits below the connection pool
(httpcore's network backend), so that redirects, retries and new connections all pass it, and pooled
connections have passed it. TLS and the Host header keep the name.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore
import httpx

from agui_host.security.addresses import (
    AddressRefused,
    allowed,
    check_address,
    check_host,
    check_url,
)

Resolver = Callable[[str, int], Awaitable[list[str]]]
KEPT_ALIVE = 100
KEPT_ALIVE_SECONDS = 20.0


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, in the order in which to try them. Raises OSError."""
    loop = asyncio.get_running_loop()
    results = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in results))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only."""

    def __init__(self, resolver: Resolver = resolve) -> None:
        self._resolver = resolver
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, check all addresses, then try them in order within ``timeout`` seconds.

        Raises AddressRefused if any of them is refused: a name that leads half inside is no
        accident.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (60.0 if timeout is None else timeout)
        addresses = await self._checked(host, port, deadline)
        for tried, address in enumerate(addresses, 1):
            # An address that does not answer leaves time for the next one.
            share = (deadline - loop.time()) / (len(addresses) - tried + 1)
            try:
                return await self._network.connect_tcp(
                    address, port, max(share, 0.01), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if tried == len(addresses):
                    raise
        raise httpcore.ConnectError(f"{host} has no address.")

    async def _checked(self, host: str, port: int, deadline: float) -> list[str]:
        check_host(host)
        try:
            async with asyncio.timeout_at(deadline):
                addresses = await self._resolver(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"{host} could not be resolved in time.") from None
        except (OSError, UnicodeError):
            raise httpcore.ConnectError(f"{host} could not be resolved.") from None
        if not allowed().name(host):
            for address in addresses:
                check_address(address)
        return addresses

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Always raises AddressRefused."""
        raise AddressRefused

    async def sleep(self, seconds: float) -> None:
        """Sleep before the next try, as httpcore asks."""
        await asyncio.sleep(seconds)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx's transport over a guarded backend; also checks the URL of each hop."""

    def __init__(self, limits: httpx.Limits, resolver: Resolver = resolve) -> None:
        context = _trust(ssl.get_default_verify_paths())
        super().__init__(verify=context, trust_env=False)
        # httpx has no argument for the backend; the pool it made has not been used yet.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=GuardedBackend(resolver),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One hop. Raises AddressRefused."""
        check_url(str(request.url))
        return await super().handle_async_request(request)


@lru_cache(4)
def _trust(paths: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Shared by all clients: reading the certificates takes a tenth of a second of the event loop.

    The paths come from the variables of the environment that httpx reads as well.
    """
    return httpx.create_ssl_context()


def client(
    *,
    timeout: httpx.Timeout | float = 30.0,
    max_connections: int | None = 100,
    resolver: Resolver = resolve,
    **options: Any,
) -> httpx.AsyncClient:
    """An httpx client for addresses that a tenant chose; its user closes it.

    Redirects are not followed by default, and are checked like any request. No proxies, .netrc or
    cookies: what one tenant's server sets must not reach another's. Its requests raise
    AddressRefused. ``options`` are httpx's.
    """
    limits = httpx.Limits(
        max_connections=max_connections,
        max_keepalive_connections=KEPT_ALIVE,
        keepalive_expiry=KEPT_ALIVE_SECONDS,
    )
    no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(
        transport=GuardedTransport(limits, resolver),
        timeout=timeout,
        trust_env=False,
        cookies=no_cookies,
        **options,
    )
