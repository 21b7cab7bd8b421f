"""The machine's certificates, read once by each process that runs tests.

``httpx`` reads them again for each client, which takes 30 ms of processor time, even for clients
that only speak plain HTTP. Tests that wait for a host make such a client every 50 ms.
"""

import functools
import os
import ssl
from typing import Any

import httpx
from httpx._transports import default

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_create = default.create_ssl_context


def install() -> None:
    """Let all clients share a context, except where a test names certificates."""
    httpx.create_ssl_context = default.create_ssl_context = context


def context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """The context that ``httpx`` would make."""
    if verify is not True or cert is not None:
        return _create(verify=verify, cert=cert, trust_env=trust_env)
    return _shared(trust_env, *(os.environ.get(name) for name in VARIABLES))


@functools.cache
def _shared(trust_env: bool, *_: str | None) -> ssl.SSLContext:
    return _create(trust_env=trust_env)
