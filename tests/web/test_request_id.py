"""Every answer has a name that can be found in the logs."""

from typing import Any

import pytest
from structlog.contextvars import get_contextvars

from agui_host.web.asgi import router
from agui_host.web.middleware.front import Front
from agui_host.web.request_id import SANE


async def ask(headers_out: Any = (), **headers: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The answer's headers, and what the logs would have been told meanwhile."""
    bound: dict[str, Any] = {}
    answered: dict[str, str] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        bound.update(get_contextvars())
        await send({"type": "http.response.start", "status": 200, "headers": list(headers_out)})

    async def send(message: Any) -> None:
        for name, value in message.get("headers", ()):
            assert name.decode().lower() not in answered
            answered[name.decode().lower()] = value.decode()

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "OPTIONS", "path": "/", "headers": raw}
    await Front(app, router)(scope, None, send)  # type: ignore[arg-type]
    return answered, bound


@pytest.mark.parametrize("sane", ["a", "req-1.2_3", "x" * 64])
async def test_a_sane_id_is_kept(sane: str) -> None:
    headers, bound = await ask(x_request_id=sane)
    assert headers["x-request-id"] == bound["request_id"] == sane


@pytest.mark.parametrize("rubbish", ["", "x" * 65, "a b", "a\nb", "a,b", "<b>"])
async def test_rubbish_is_replaced_by_a_new_id(rubbish: str) -> None:
    headers, bound = await ask(x_request_id=rubbish)
    assert headers["x-request-id"] == bound["request_id"] != rubbish
    assert SANE.fullmatch(headers["x-request-id"])


async def test_two_requests_have_two_ids() -> None:
    assert (await ask())[0]["x-request-id"] != (await ask())[0]["x-request-id"]


async def test_the_id_is_forgotten_after_the_request() -> None:
    await ask(x_request_id="mine")
    assert "request_id" not in get_contextvars()


async def test_a_refused_preflight_carries_the_id_too() -> None:
    headers, bound = await ask(
        x_request_id="mine", origin="https://evil.example", access_control_request_method="POST"
    )
    assert headers["x-request-id"] == "mine"
    assert bound == {}


async def test_missing_security_headers_are_added() -> None:
    headers, _ = await ask()
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


async def test_security_headers_of_the_application_win() -> None:
    headers, _ = await ask(headers_out=[(b"Referrer-Policy", b"no-referrer")])
    assert headers["referrer-policy"] == "no-referrer"


async def test_sockets_are_named_in_the_logs() -> None:
    bound: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        bound.update(get_contextvars())

    scope = {"type": "websocket", "path": "/ws/", "headers": [(b"x-request-id", b"mine")]}
    await Front(app, router)(scope, None, None)  # type: ignore[arg-type]
    assert bound == {"request_id": "mine"}
