"""A body or a request of the socket with an unknown member makes nothing, on every route."""

import re
from typing import Any

import pytest
from django.apps import apps
from drf_spectacular.generators import SchemaGenerator

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import OperatorKey
from tests.asgi import Answer, ask_now
from tests.tenancy.doors import ASGI, METHODS, NOWHERE, Door
from tests.tenancy.test_doors import DJANGO, OWN, House, house
from tests.web.calling import calling

__all__ = ["house"]
pytestmark = pytest.mark.django_db(transaction=True)
UNKNOWN = "zzz" * 100
EXEMPT = {
    "api/v1/runs/import": "an archive, whose seal is of its bytes",
    "api/v1/runs/<uuid:run_id>/stream": "events of AG-UI",
    "api/v1/files": "the body is the file; of a form see test_uploads",
}
WRITES = ("POST", "PUT", "PATCH")
ROUTES = [
    pytest.param(method, route, door, id=f"{method} {door.url or route}")
    for doors in (DJANGO, ASGI)
    for route, door in doors.items()
    for method in WRITES
    if route.startswith("api/v1/") and route not in EXEMPT and method in door.answers
]


def rows() -> dict[str, int]:
    """How many rows each table of a model has."""
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def described() -> dict[tuple[str, str], dict[str, Any]]:
    """The bodies of JSON that the API's description has, by method and address."""
    description = SchemaGenerator().get_schema(request=None, public=True)
    bodies = {}
    for address, operations in description["paths"].items():
        for method in map(str.lower, WRITES):
            content = operations.get(method, {}).get("requestBody", {}).get("content", {})
            name = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            if address.startswith("/api/v1/") and name:
                schema = description["components"]["schemas"][name.rsplit("/", 1)[1]]
                bodies[method.upper(), address.lstrip("/")] = schema
    return bodies


def refused(answer: Answer) -> dict[str, Any]:
    assert (answer.status, answer.code) == (422, "unknown_member"), answer.body
    assert len(answer.body) < 2_000
    details: dict[str, Any] = answer.json["error"]["details"]
    return details


@pytest.mark.parametrize(("method", "route", "door"), ROUTES)
def test_an_unknown_member_makes_nothing(house: House, method: str, route: str, door: Door) -> None:
    url, headers = house.url(door, route), {**OWN, **house.askers["owner"]}
    if route.startswith("api/v1/operator/"):
        _, key = OperatorKey.objects.create_key(name="operator")
        headers = {"authorization": f"Bearer {key}"}
    before, counts = house.state(), rows()
    details = refused(ask_now(method, url, headers, json={**(house.body(door) or {}), UNKNOWN: 1}))
    assert details["nearest"] is None
    for known in details["known"]:
        misspelt = {**(house.body(door) or {}), f"{known}_x": 1}
        assert refused(ask_now(method, url, headers, json=misspelt))["nearest"] == known
    assert (house.state(), rows()) == (before, counts)


def test_every_described_body_is_closed_and_walked() -> None:
    address = {route: re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in DJANGO}
    walked = {(each.values[0], address.get(str(each.values[1]))) for each in ROUTES}
    bodies = described()
    assert len(bodies) > 15
    assert set(bodies) - {("POST", "api/v1/files")} - walked <= {
        ("POST", "api/v1/runs/{run_id}/stream")
    }
    for key, schema in bodies.items():
        assert schema.get("additionalProperties") is False or key[1].endswith("/stream"), key


MORE_OPEN = [
    ("grants", {"run": "{run}", "redacts": ["password"]}, "redact"),
    ("grants", {"run": "{run}", "expires": "2030-01-01T00:00:00Z"}, "expires_at"),
    ("keys", {"name": "new", "scope": ["read"]}, "scopes"),
    ("keys", {"name": "new", "agent": "echo"}, "agents"),
    ("agents", {"slug": "new", "url": NOWHERE, "middlewares": []}, "middleware"),
    ("invitations", {"email": "dora@example.com", "roles": "viewer"}, "role"),
    ("webhooks", {"url": "https://example.com/", "events": ["run.failed"], "agent": 1}, "agents"),
    ("schedules", {"cron": "0 0 * * *", "pause": True}, "paused"),
]


@pytest.mark.parametrize(("address", "body", "nearest"), MORE_OPEN)
def test_nothing_is_made_more_open_than_was_asked(
    house: House, address: str, body: dict[str, Any], nearest: str | None
) -> None:
    members = {k: house.named(v) if isinstance(v, str) else v for k, v in body.items()}
    headers, before = {**OWN, **house.askers["owner"]}, rows()
    details = refused(ask_now("POST", f"/api/v1/{address}", headers, json=members))
    assert nearest is None or details["nearest"] == nearest
    assert rows() == before


def test_camel_case_counts_like_snake_case(house: House) -> None:
    headers = {**OWN, **house.askers["owner"]}
    body = {"run": str(house.run.pk), "signIn": True, "expiresAt": "2100-01-01T00:00:00Z"}
    made = ask_now("POST", "/api/v1/grants", headers, json=body)
    assert (made.status, made.json["sign_in"]) == (201, True)
    assert made.json["expires_at"].startswith("2100-01-01")
    both = ask_now("POST", "/api/v1/grants", headers, json={**body, "sign_in": False})
    assert (both.status, both.code) == (422, "invalid")
    assert both.json["error"]["details"] == {"path": "sign_in"}


def test_a_key_for_an_agent_that_does_not_exist_is_refused(house: House) -> None:
    headers, before = {**OWN, **house.askers["owner"]}, rows()
    body = {"name": "new", "agents": ["far", "fra"]}
    answer = ask_now("POST", "/api/v1/keys", headers, json=body)
    assert (answer.status, answer.code) == (422, "invalid")
    assert answer.json["error"]["details"] == {"path": "agents", "missing": ["fra"]}
    assert rows() == before
    assert ask_now("POST", "/api/v1/keys", headers, json={**body, "agents": ["far"]}).status == 201


async def test_an_unknown_parameter_of_the_socket_does_nothing(house: House, bell: None) -> None:
    before = await db(house.state), await db(rows)
    async with calling({**OWN, **house.askers["owner"]}) as peer:
        for method, (template, _) in METHODS.items():
            params = {k: house.named(v) if isinstance(v, str) else v for k, v in template.items()}
            error = (await peer.answer(method, **params, **{UNKNOWN: 1}))["error"]
            assert (error["code"], error["data"]["code"]) == (-32602, "unknown_member"), method
            for known in error["data"]["details"]["known"]:
                answer = await peer.answer(method, **params, **{f"{known}_x": 1})
                assert answer["error"]["data"]["details"]["nearest"] == known, method
        after = {"run": str(house.run.pk), "seqs": 1}
        answer = await peer.answer("thread.subscribe", thread_id="t", after=after)
        assert answer["error"]["data"]["details"]["nearest"] == "seq"
    assert (await db(house.state), await db(rows)) == before
