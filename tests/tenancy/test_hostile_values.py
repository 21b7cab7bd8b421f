"""Hostile values in every parameter and member that the API's description has: never a 500."""

import functools
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.asgi import Exchange
from tests.tenancy.doors import ASGI, Door
from tests.tenancy.routes import OWN
from tests.tenancy.test_doors import DJANGO, House, house

__all__ = ["house"]

pytestmark = pytest.mark.django_db(transaction=True)

QUERIES = {
    "NUL": "a%00b",
    "digits": "9" * 5_000,
    "negative digits": "-" + "9" * 5_000,
    "long": "x" * 100_000,
    "half a pair": "%ED%A0%80",
    "an escaped half": "%5Cud800",
    "no UTF-8": "%FF%FE",
}
"""As they stand in an address."""
MEMBERS = {
    "NUL": r'"a\u0000b"',
    "digits": "9" * 5_000,
    "fraction": "1e" + "9" * 500,
    "long": '"' + "x" * 100_000 + '"',
    "half a pair": r'"\ud800"',
    "deep": "[" * 500 + "]" * 500,
    "empty": "{}",
}
"""As JSON."""
UNREAD = re.compile(rb'"bad_json"|must not contain NUL')
"""In a refusal of a whole body or address, before anything reads a name in it."""


@functools.cache
def doors() -> dict[str, Door]:
    """The doors by the address as the description writes it."""
    return {
        "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route): door
        for table in (ASGI, DJANGO)
        for route, door in table.items()
    }


def operations() -> list[tuple[str, str, set[str], set[str], set[str]]]:
    """Method, address, and the names in its query, its headers and its body."""
    description = SchemaGenerator().get_schema(request=None, public=True)
    listed = []
    for address, methods in description["paths"].items():
        for method, operation in methods.items():
            names: dict[str, set[str]] = {"query": set(), "header": set(), "path": set()}
            for each in operation.get("parameters", ()):
                names[each["in"]].add(each["name"])
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            if "$ref" in schema:
                schema = description["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
            members = set(schema.get("properties", ()))
            listed.append((method.upper(), address, names["query"], names["header"], members))
    return listed


OPERATIONS = operations()


@dataclass
class Walk:
    """Requests so far, and what is wrong with their answers."""

    count: int = 0
    wrong: list[str] = field(default_factory=list)

    async def ask(self, method: str, url: str, headers: dict[str, str], body: bytes = b"") -> bool:
        """Whether the answer can depend on the name that has the value, which is then read."""
        if body:
            headers = {**headers, "content-type": "application/json"}
        self.count += 1
        async with Exchange(method, url, {**OWN, **headers}, body=body) as exchange:
            streams = exchange.headers.get("content-type", "").startswith("text/event-stream")
            answer = b"" if streams else await exchange.rest()
        if exchange.status >= 500:
            self.wrong.append(f"{exchange.status} {method} {url[:150]} {body[:60]!r}")
        return not (exchange.status == 400 and UNREAD.search(answer))


@pytest.mark.parametrize("value", QUERIES.values(), ids=QUERIES)
async def test_parameters_of_addresses(house: House, bell: None, value: str) -> None:
    """Half a pair has all names at once: what decodes it wrongly fails with bytes of no UTF-8."""
    walk, at_once = Walk(), value == QUERIES["half a pair"]
    for method, address, query, headers, _ in OPERATIONS:
        door = doors().get(address)
        if door is None or method != "GET":
            continue
        url = house.url(door, address.lstrip("/"))
        own = {**house.askers["owner"], **door.headers}
        mark = "&" if "?" in url else "?"
        pairs = [f"{name}={value}" for name in sorted(query)]
        for pair in ["&".join(pairs)] if at_once and pairs else [*pairs, f"zzz={value}"]:
            if not await walk.ask(method, f"{url}{mark}{pair}", own):
                break
        for name in headers if len(value) < 10_000 else ():
            await walk.ask(method, url, {**own, name.lower(): value})
        if "{" in address:
            await walk.ask(method, re.sub(r"\{\w+\}", value, address), own)
    assert walk.wrong == []
    assert walk.count > 100


@pytest.mark.parametrize("value", MEMBERS.values(), ids=MEMBERS)
async def test_members_of_bodies(house: House, bell: None, value: str) -> None:
    walk = Walk()
    for method, address, _, _, members in OPERATIONS:
        door: Any = doors().get(address)
        if door is None:
            continue
        url, headers = house.url(door, address.lstrip("/")), house.askers["owner"] | door.headers
        for name in sorted(members):
            if not await walk.ask(method, url, headers, f'{{"{name}": {value}}}'.encode()):
                break
    assert walk.wrong == []
    assert walk.count > 30
