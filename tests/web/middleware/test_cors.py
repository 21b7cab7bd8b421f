"""Origins: who may read an answer, from where a cookie counts, which Host is ours."""

from typing import Any

import pytest
from pytest_django import Settings

from agui_host.security.origins import check_origin, is_json
from agui_host.web.middleware.cors import granted, is_preflight, preflight
from agui_host.web.scope import headers_of, host_allowed, scheme_of

LISTED = "https://app.example"
STRANGER = "https://evil.example"
ROUTES = ["/agui", "/api/v1/runs", "/api/v1/runs/1/events", "/health", "/no/such/page"]


@pytest.fixture(autouse=True)
def _listed(settings: Settings) -> None:
    settings.AGUI_ALLOWED_ORIGINS = [LISTED]


async def ask(
    method: str = "GET", path: str = "/", raw_headers: Any = (), **headers: str
) -> tuple[int, list[tuple[str, str]], bool]:
    """(status, headers, whether the application was reached) of one request, by CORS alone."""
    reached = False
    answered: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal reached
        reached = True
        await send({"type": "http.response.start", "status": 200, "headers": list(raw_headers)})
        await send({"type": "http.response.body", "body": b"ok"})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = granted(scope, message["headers"])
        answered.append(message)

    raw = [(k.replace("_", "-").encode(), v.encode("latin-1")) for k, v in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    await (preflight if is_preflight(scope) else app)(scope, None, send)  # type: ignore[arg-type]
    assert [message["type"] for message in answered] == [
        "http.response.start",
        "http.response.body",
    ]
    start = answered[0]
    return (
        start["status"],
        [(n.decode(), v.decode("latin-1")) for n, v in start["headers"]],
        reached,
    )


@pytest.mark.parametrize("path", ROUTES)
async def test_a_listed_origin_gets_its_preflight_on_every_route(path: str) -> None:
    status, headers, reached = await ask(
        "OPTIONS", path, origin=LISTED, access_control_request_method="POST"
    )
    granted = dict(headers)
    assert (status, reached) == (204, False)
    assert granted["access-control-allow-origin"] == LISTED
    assert granted["access-control-allow-credentials"] == "true"
    assert granted["vary"] == "Origin"
    assert int(granted["access-control-max-age"]) > 0
    assert {"GET", "POST", "DELETE"} <= set(granted["access-control-allow-methods"].split(", "))
    assert {
        "Authorization",
        "Content-Type",
        "Last-Event-ID",
        "Producer-Seq",
        "Idempotency-Key",
        "X-Request-ID",
        "X-Run-Id",
    } <= set(granted["access-control-allow-headers"].split(", "))


@pytest.mark.parametrize("path", ROUTES)
async def test_a_strangers_preflight_is_403_on_every_route(path: str) -> None:
    status, headers, reached = await ask(
        "OPTIONS", path, origin=STRANGER, access_control_request_method="POST"
    )
    assert (status, reached) == (403, False)
    assert not [name for name, _ in headers if name.startswith("access-control")]


async def test_an_options_request_that_is_no_preflight_reaches_the_application() -> None:
    assert (await ask("OPTIONS", origin=LISTED))[2]
    assert (await ask("OPTIONS", access_control_request_method="POST"))[2]


async def test_a_listed_origin_may_read_the_answer_and_its_headers() -> None:
    granted = dict((await ask(origin=LISTED))[1])
    assert granted["access-control-allow-origin"] == LISTED
    assert granted["access-control-allow-credentials"] == "true"
    assert {
        "Content-Location",
        "ETag",
        "Producer-Expected-Seq",
        "Retry-After",
        "Stream-Closed",
        "Stream-Next-Offset",
        "X-Request-ID",
    } <= set(granted["access-control-expose-headers"].split(", "))
    assert granted["vary"] == "Origin"


async def test_a_stranger_gets_the_answer_without_any_cors_header() -> None:
    assert await ask(origin=STRANGER) == (200, [], True)


async def test_without_an_origin_the_answer_is_untouched() -> None:
    raw_headers = [(b"Vary", b"Cookie"), (b"X-One", b"1")]
    assert await ask(raw_headers=raw_headers) == (200, [("Vary", "Cookie"), ("X-One", "1")], True)


async def test_a_wildcard_is_echoed_but_never_with_credentials(settings: Settings) -> None:
    settings.AGUI_ALLOWED_ORIGINS = ["*", LISTED]
    anybody = dict((await ask(origin=STRANGER))[1])
    assert anybody["access-control-allow-origin"] == STRANGER
    assert "access-control-allow-credentials" not in anybody
    assert dict((await ask(origin=LISTED))[1])["access-control-allow-credentials"] == "true"


@pytest.mark.parametrize(
    ("raw_headers", "expected"),
    [
        (b"Cookie, Accept", "Cookie, Accept, Origin"),
        (b"Cookie, origin", "Cookie, origin"),
        (b"*", "*"),
    ],
)
async def test_vary_names_origin_once(raw_headers: bytes, expected: str) -> None:
    headers = (await ask(raw_headers=[(b"Vary", raw_headers)], origin=LISTED))[1]
    assert [value for name, value in headers if name.lower() == "vary"] == [expected]


async def test_the_applications_own_cors_headers_do_not_double_ours() -> None:
    raw_headers = [(b"Access-Control-Allow-Origin", b"*")]
    headers = (await ask(raw_headers=raw_headers, origin=LISTED))[1]
    granted = [value for name, value in headers if name.lower() == "access-control-allow-origin"]
    assert granted == [LISTED]


def test_sockets_pass_through() -> None:
    assert not is_preflight({"type": "websocket", "headers": [(b"origin", STRANGER.encode())]})


@pytest.mark.parametrize(
    ("origin", "scheme", "passes"),
    [
        ("http://host.example:8000", "http", True),
        ("http://HOST.example:8000", "http", True),
        ("http://host.example:8000", "ws", True),
        ("https://host.example:8000", "wss", True),
        (LISTED, "http", True),
        (None, "http", False),
        ("", "http", False),
        ("null", "http", False),
        ("*", "http", False),
        (STRANGER, "http", False),
        ("https://host.example:8000", "http", False),
        ("http://host.example:8000", "https", False),
        ("http://host.example", "http", False),
        ("http://host.example:8001", "http", False),
        ("http://host.example:8000.evil.example", "http", False),
        (LISTED + ".evil.example", "http", False),
        ("http://app.example", "http", False),
        ("http://host.example:8000, " + STRANGER, "http", False),
    ],
)
@pytest.mark.parametrize("allowed", [[LISTED], [LISTED, "*", "null"]])
def test_where_a_cookie_counts(
    settings: Settings, allowed: list[str], origin: str | None, scheme: str, passes: bool
) -> None:
    settings.AGUI_ALLOWED_ORIGINS = allowed
    headers = {} if origin is None else {"origin": origin}
    assert check_origin(headers, host="host.example:8000", scheme=scheme) is passes


def test_no_origin_is_the_same_as_no_host() -> None:
    assert not check_origin({"origin": "http://"}, host="", scheme="http")


@pytest.mark.parametrize(
    ("content_type", "json"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("text/plain", False),
        ("text/plain; application/json", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("", False),
    ],
)
def test_what_counts_as_json(content_type: str, json: bool) -> None:
    assert is_json({"content-type": content_type}) is json


def test_no_content_type_is_not_json() -> None:
    assert not is_json({})


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("sub.site.example", True),
        ("[::1]:8000", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("localhost@evil.example", False),
        ("local host", False),
        ("", False),
    ],
)
def test_which_host_is_ours(settings: Settings, host: str, ours: bool) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "[::1]", ".site.example"]
    assert host_allowed({"host": host}) is ours


def test_a_request_without_host_is_refused(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert not host_allowed({})


def test_repeated_headers_are_joined_and_match_nothing() -> None:
    scope = {"headers": [(b"Origin", LISTED.encode()), (b"origin", STRANGER.encode())]}
    headers = headers_of(scope)
    assert headers == {"origin": f"{LISTED}, {STRANGER}"}
    assert not check_origin(headers, host="host.example", scheme="https")


def test_repeated_cookies_are_one_cookie_header() -> None:
    scope = {"headers": [(b"cookie", b"a=1"), (b"cookie", b"b=2")]}
    assert headers_of(scope) == {"cookie": "a=1; b=2"}


def test_the_scheme_is_the_clients_only_behind_a_named_proxy(settings: Settings) -> None:
    scope = {"scheme": "ws", "headers": [(b"x-forwarded-proto", b"https")]}
    assert scheme_of(scope) == "http"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert scheme_of(scope) == "https"
    assert scheme_of({"scheme": "wss", "headers": []}) == "https"
