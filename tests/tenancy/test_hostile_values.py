"""Hostile values in every parameter and member that the API's description has: never a 500."""

import functools
import re
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


async def failure(method: str, url: str, headers: dict[str, str], body: bytes = b"") -> str:
    """What is wrong with an answer; empty if nothing is."""
    if body:
        headers = {**headers, "content-type": "application/json"}
    async with Exchange(method, url, {**OWN, **headers}, body=body) as exchange:
        if not exchange.headers.get("content-type", "").startswith("text/event-stream"):
            await exchange.rest()
        return f"{exchange.status} {method} {url[:150]} {body[:60]!r}" * (exchange.status >= 500)


@pytest.mark.parametrize("value", QUERIES.values(), ids=QUERIES)
async def test_parameters_of_addresses(house: House, bell: None, value: str) -> None:
    wrong, walked = [], 0
    for method, address, query, headers, _ in OPERATIONS:
        door = doors().get(address)
        if door is None or method != "GET":
            continue
        url = house.url(door, address.lstrip("/"))
        own = {**house.askers["owner"], **door.headers}
        for name in query | {"zzz"}:
            mark = "&" if "?" in url else "?"
            wrong.append(await failure(method, f"{url}{mark}{name}={value}", own))
            walked += 1
        for name in headers if len(value) < 10_000 else ():
            wrong.append(await failure(method, url, {**own, name.lower(): value}))
            walked += 1
        if "{" in address:
            path = re.sub(r"\{\w+\}", value, address)
            wrong.append(await failure(method, path, own))
            walked += 1
    assert [each for each in wrong if each] == []
    assert walked > 150


@pytest.mark.parametrize("value", MEMBERS.values(), ids=MEMBERS)
async def test_members_of_bodies(house: House, bell: None, value: str) -> None:
    wrong, walked = [], 0
    for method, address, _, _, members in OPERATIONS:
        door: Any = doors().get(address)
        if door is None:
            continue
        url = house.url(door, address.lstrip("/"))
        for name in members:
            body = f'{{"{name}": {value}}}'.encode()
            wrong.append(await failure(method, url, house.askers["owner"] | door.headers, body))
            walked += 1
    assert [each for each in wrong if each] == []
    assert walked > 60
