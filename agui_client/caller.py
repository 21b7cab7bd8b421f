"""The common parts of the clients: credentials, an HTTP client, and ``async with``."""

import ssl
from collections.abc import Mapping
from typing import Self

import httpx


class Caller:
    """Calls a host over HTTP; ``close`` closes the HTTP client, unless it is the program's own."""

    def __init__(
        self,
        timeout: float | httpx.Timeout,
        api_key: str | None,
        headers: Mapping[str, str] | None,
        verify: ssl.SSLContext | bool,
        http_client: httpx.AsyncClient | None,
    ) -> None:
        key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._headers = {**(headers or {}), **key}
        self._owned = http_client is None
        self._http = http_client or httpx.AsyncClient(
            timeout=timeout, trust_env=False, verify=verify
        )

    async def close(self) -> None:
        """Leave; runs on the host continue."""
        if self._owned:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
