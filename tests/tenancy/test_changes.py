"""A PATCH that names an unknown member changes nothing and says which it was, on every resource."""

import re
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.asgi import ask_now
from tests.tenancy.test_doors import DJANGO, OWN, House, house

__all__ = ["house"]
pytestmark = pytest.mark.django_db(transaction=True)
ROUTES = {re.sub(r"<\w+:(\w+)>", r"{\1}", route): route for route in DJANGO}


def changes() -> dict[str, dict[str, Any]]:
    """The bodies of all PATCH operations of the API's description, by their address."""
    description = SchemaGenerator().get_schema(request=None, public=True)
    schemas = description["components"]["schemas"]
    bodies = {
        address: operations["patch"]["requestBody"]["content"]["application/json"]["schema"]
        for address, operations in description["paths"].items()
        if "patch" in operations
    }
    return {
        address.lstrip("/"): schemas[body["$ref"].rsplit("/", 1)[1]]
        for address, body in bodies.items()
    }


def test_every_change_refuses_what_it_does_not_know(house: House) -> None:
    described = changes()
    assert len(described) >= 4
    for address, schema in described.items():
        assert schema["additionalProperties"] is False, address
        door, known = DJANGO[ROUTES[address]], sorted(schema["properties"])
        url, before = house.url(door, ROUTES[address]), house.state()
        misspelt = f"{known[0][:-1]}_"
        for name, nearest in ((misspelt, known[0]), ("id" * 500, None)):
            body = {**house.body(door), name: 1}
            answer = ask_now("PATCH", url, {**OWN, **house.askers["owner"]}, json=body)
            assert (answer.status, answer.code) == (422, "unknown_member"), address
            error = answer.json["error"]
            assert name[:50] in error["message"]
            assert nearest is None or f"the nearest is {nearest}" in error["message"]
            assert (error["details"]["nearest"], error["details"]["known"]) == (nearest, known)
            assert len(answer.body) < 2_000
        assert house.state() == before, address
        answer = ask_now("PATCH", url, {**OWN, **house.askers["owner"]}, json=house.body(door))
        assert answer.status == 200, (address, answer.body)
