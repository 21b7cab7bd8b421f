"""Opens a WebSocket of the run host; its errors are those of every other connection."""

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

from agui_client.errors import Broken, Refused, Reset

CLOSED_FOR_GOOD = range(4400, 4412)
RESET = 4411
TOO_SLOW = 4408
MAX_MESSAGE = 32 * 1024 * 1024


@asynccontextmanager
async def opened(
    address: str,
    headers: Mapping[str, str],
    verify: ssl.SSLContext | bool,
    *,
    subprotocol: str | None = None,
) -> AsyncGenerator[ClientConnection, None]:
    """An open socket; of ``headers`` it sends the Authorization.

    Raises Broken where another try can help, and Refused where none will.
    """
    authorization = {
        name: text for name, text in headers.items() if name.lower() == "authorization"
    }
    try:
        async with connect(
            address,
            additional_headers=authorization,
            subprotocols=None if subprotocol is None else [Subprotocol(subprotocol)],
            ssl=_tls(address, verify),
            max_size=MAX_MESSAGE,
            open_timeout=10,
            close_timeout=1,
            proxy=None,
        ) as socket:
            yield socket
    except ConnectionClosed as error:
        code = error.rcvd.code if error.rcvd else 1006
        if code in CLOSED_FOR_GOOD and code != TOO_SLOW:
            if code == RESET:
                raise Reset(status=code) from None
            raise Refused(code, error.rcvd.reason if error.rcvd else "", "socket closed") from None
        raise Broken(f"closed with {code}") from error
    except (OSError, InvalidHandshake, TimeoutError, ValueError) as error:
        raise Broken(repr(error)) from error


def _tls(address: str, verify: ssl.SSLContext | bool) -> ssl.SSLContext | None:
    if not address.startswith("wss:"):
        return None
    if isinstance(verify, ssl.SSLContext):
        return verify
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
