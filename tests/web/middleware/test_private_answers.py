"""No cache keeps an answer of one caller: each route of the API, each asker, each status."""

import pytest

from agui_host.web.middleware.cors import EXPOSED
from agui_host.web.middleware.private_answers import private
from tests.asgi import Exchange
from tests.tenancy.doors import ASGI, RESOURCE
from tests.tenancy.test_doors import DJANGO, House, house

__all__ = ["house"]

OWN = {"origin": "http://localhost"}
SAFE = {
    "cache-control", "content-language", "content-length", "content-type", "expires",
    "last-modified", "pragma",
}  # fmt: skip
"""Headers that every page may read."""
FOR_BROWSERS = {
    "accept-ranges", "allow", "connection", "content-encoding", "content-security-policy",
    "cross-origin-opener-policy", "cross-origin-resource-policy", "permissions-policy",
    "referrer-policy", "set-cookie", "vary", "x-accel-buffering", "x-content-type-options",
    "x-frame-options", "x-robots-tag",
}  # fmt: skip
"""Those that tell a script nothing."""
PUBLIC = {"api/schema/", RESOURCE, f"{RESOURCE}/mcp", "service-worker.js"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("asker", ["nobody", "owner"])
async def test_each_answer_of_each_route(house: House, bell: None, asker: str) -> None:
    wrong, walked, names = [], 0, set()
    for table in (DJANGO, ASGI):
        for route, door in table.items():
            for method in {"GET", *door.answers} if route not in PUBLIC else ():
                url = house.url(door, route)
                headers = {**OWN, **house.askers[asker], **door.headers}
                body = house.body(door) if method in ("POST", "PUT", "PATCH") else None
                async with Exchange(method, url, headers, json=body) as exchange:
                    walked += 1
                    names |= set(exchange.headers)
                    rule = exchange.headers.get("cache-control", "")
                    vary = exchange.headers.get("vary", "").replace(" ", "").lower().split(",")
                    stream = exchange.headers.get("content-type", "").startswith("text/event")
                    stored = (
                        "no-cache, no-transform" not in rule if stream else "no-store" not in rule
                    )
                    sealed = exchange.headers.get("etag") and rule.startswith("private")
                    if (stored and not sealed) or not {"authorization", "cookie"} <= set(vary):
                        wrong.append(f"{method} {url} {exchange.status}: {rule!r} {vary}")
    assert wrong == []
    assert walked > 200
    exposed = set(EXPOSED.decode().lower().split(", "))
    assert names - exposed - SAFE - FOR_BROWSERS == set(), "scripts of other origins need them"


def headers_after(*headers: tuple[bytes, bytes]) -> dict[str, str]:
    """The headers that leave the process, if the application sends these."""
    return {name.decode().lower(): value.decode() for name, value in private(list(headers))}


@pytest.mark.parametrize(
    ("headers", "rule", "vary"),
    [
        ([], "no-store", "Authorization, Cookie, X-AGUI-User"),
        ([(b"Vary", b"Cookie, Accept")], "no-store", "Cookie, Accept, Authorization, X-AGUI-User"),
        ([(b"vary", b"*")], "no-store", "*"),
        ([(b"Cache-Control", b"no-cache")], "no-cache", "Authorization, Cookie, X-AGUI-User"),
        ([(b"cache-control", b"max-age=60, public")], "max-age=60, public", None),
        ([(b"etag", b'"1"')], None, None),
        (
            [(b"etag", b'"1"'), (b"cache-control", b"private")],
            "private",
            "Authorization, Cookie, X-AGUI-User",
        ),
        ([(b"access-control-max-age", b"1"), (b"vary", b"Origin")], None, "Origin"),
    ],
    ids=("none", "vary", "any", "stream", "static", "public tag", "private tag", "preflight"),
)
def test_an_answer_keeps_its_own_rule(
    headers: list[tuple[bytes, bytes]], rule: str | None, vary: str | None
) -> None:
    changed = headers_after(*headers)
    assert (changed.get("cache-control"), changed.get("vary")) == (rule, vary)
