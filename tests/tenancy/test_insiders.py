"""Every route, tried by people and keys of the team itself: what the one table of roles allows.

``NEEDS`` says which action each method of a route takes; a route or method without a line fails.
Whoever lacks it gets 403 and changes nothing, whoever has it gets what Alice gets.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import Role, Scope
from agui_host.teams.permissions import allowed, within
from tests.asgi import watch
from tests.cast import Cast
from tests.suite.rows.rereading import Reread
from tests.tenancy.doors import ASGI, DJANGO, METHODS, NEVER_OPENS, SOCKETS, STAYS_OPEN, Door
from tests.tenancy.test_doors import OWN, House, house, knock
from tests.web.calling import calling

__all__ = ["house"]

pytestmark = pytest.mark.django_db(transaction=True)

READ = {"GET": "view"}
TEAM = {"GET": "view_team"}

NEEDS: dict[str, dict[str, str]] = {
    "api/v1/runs": {**READ, "POST": "run"},
    "api/v1/runs/<uuid:run_id>": READ,
    "api/v1/runs/<uuid:run_id>/cancel": {"POST": "cancel_others"},
    "api/v1/runs/<uuid:run_id>/events": READ,
    "api/v1/runs/<uuid:run_id>/failure": {"GET": "manage_agents"},
    "api/v1/runs/<uuid:run_id>/outline": READ,
    "api/v1/runs/<uuid:run_id>/state": READ,
    "api/v1/runs/<uuid:run_id>/state/history": READ,
    "api/v1/runs/<uuid:run_id>/messages": {**READ, "POST": "run"},
    "api/v1/runs/<uuid:run_id>/comments": {**READ, "POST": "comment"},
    "api/v1/runs/<uuid:run_id>/comments/<uuid:comment_id>": {"DELETE": "delete"},
    "api/v1/runs/<uuid:run_id>/feedback": {**READ, "PUT": "comment", "DELETE": "comment"},
    "api/v1/threads": READ,
    "api/v1/left-threads": {"GET": "manage_team"},
    "api/v1/left-threads/<uuid:key>": {"DELETE": "manage_team"},
    "api/v1/left-threads/<uuid:key>/hand-over": {"POST": "manage_team"},
    "api/v1/runs/<uuid:run_id>/findings": READ,
    "api/v1/runs/import": {"POST": "run"},
    "api/v1/threads/<uuid:key>": {**READ, "PATCH": "run", "DELETE": "delete"},
    "api/v1/grants": {"GET": "share", "POST": "share"},
    "api/v1/grants/<uuid:grant_id>": {"GET": "share", "DELETE": "share"},
    "api/v1/interrupts": READ,
    "api/v1/interrupts/<uuid:interrupt_id>": READ,
    "api/v1/interrupts/<uuid:interrupt_id>/answer": {"POST": "answer"},
    "api/v1/interrupts/<uuid:interrupt_id>/claim": {"POST": "answer"},
    "api/v1/interrupts/<uuid:interrupt_id>/snooze": {"POST": "view"},
    "api/v1/keys": {"GET": "manage_keys", "POST": "manage_keys"},
    "api/v1/keys/<uuid:key_id>": {"GET": "manage_keys"},
    "api/v1/keys/<uuid:key_id>/rotate": {"POST": "manage_keys"},
    "api/v1/keys/<uuid:key_id>/revoke": {"POST": "manage_keys"},
    "api/v1/keys/<uuid:key_id>/end_user_secret": dict.fromkeys(("POST", "DELETE"), "manage_keys"),
    "api/v1/members": TEAM,
    "api/v1/members/<int:member_id>": {
        **TEAM,
        "PATCH": "manage_members",
        "DELETE": "manage_members",
    },
    "api/v1/domains": {"GET": "manage_members"},
    "api/v1/group-rules": {"GET": "manage_members", "POST": "manage_team"},
    "api/v1/group-rules/<uuid:rule_id>": {"DELETE": "manage_team"},
    "api/v1/teams": TEAM,
    "api/v1/tickets": {"POST": "view"},
    "api/v1/teams/<uuid:team_id>": {"PATCH": "rename_team"},
    "api/v1/teams/<uuid:team_id>/archive": {"POST": "manage_team"},
    "api/v1/agents": {**READ, "POST": "manage_agents"},
    "api/v1/agents/<slug:slug>": {**READ, "PATCH": "manage_agents", "DELETE": "manage_agents"},
    "api/v1/agents/<slug:slug>/versions": READ,
    "api/v1/audit": {"GET": "see_audit"},
    "api/v1/audit.csv": {"GET": "see_audit"},
    "api/v1/audit.ndjson": {"GET": "see_audit"},
    "api/v1/limits": TEAM,
    "api/v1/usage": TEAM,
    "api/v1/prices": {**TEAM, "PUT": "manage_team"},
    "api/v1/webhooks": dict.fromkeys(("GET", "POST"), "manage_webhooks"),
    "api/v1/webhooks/<uuid:webhook_id>": dict.fromkeys(
        ("GET", "PATCH", "DELETE"), "manage_webhooks"
    ),
    "api/v1/webhooks/<uuid:webhook_id>/rotate": {"POST": "manage_webhooks"},
    "api/v1/webhooks/<uuid:webhook_id>/test": {"POST": "manage_webhooks"},
    "api/v1/webhooks/<uuid:webhook_id>/deliveries": {"GET": "manage_webhooks"},
    "api/v1/webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver": {
        "POST": "manage_webhooks"
    },
    "api/v1/budgets": {**READ, "POST": "manage_budgets"},
    "api/v1/budgets/<uuid:budget_id>": {
        **READ,
        "PATCH": "manage_budgets",
        "DELETE": "manage_budgets",
    },
    "api/v1/tool-calls": READ,
    "api/v1/issues": TEAM,
    "api/v1/issues/<uuid:issue_id>": {**TEAM, "PATCH": "comment"},
    "api/v1/alerts": {**TEAM, "POST": "manage_alerts"},
    "api/v1/alerts/<uuid:alert_id>": {
        **TEAM,
        "PATCH": "manage_alerts",
        "DELETE": "manage_alerts",
    },
    "api/v1/alerts/<uuid:alert_id>/snooze": {"POST": "manage_alerts"},
    "api/v1/alerts/<uuid:alert_id>/history": TEAM,
    "api/v1/runs/<uuid:run_id>/labels": {**READ, "PUT": "comment"},
    "api/v1/datasets": {**TEAM, "POST": "comment"},
    "api/v1/datasets/<uuid:data_set_id>": {**TEAM, "DELETE": "manage_agents"},
    "api/v1/datasets/<uuid:data_set_id>/runs": {**TEAM, "POST": "comment"},
    "api/v1/datasets/<uuid:data_set_id>/runs/<uuid:run_id>": {"DELETE": "comment"},
    "api/v1/datasets/<uuid:data_set_id>/export": TEAM,
    "api/v1/datasets/<uuid:data_set_id>/trials": {**TEAM, "POST": "run"},
    "api/v1/trials/<uuid:trial_id>": {**TEAM, "POST": "run"},
    "api/v1/schedules": dict.fromkeys(("GET", "POST"), "schedule"),
    "api/v1/schedules/<uuid:schedule_id>": dict.fromkeys(("GET", "PATCH", "DELETE"), "schedule"),
    "api/v1/schedules/<uuid:schedule_id>/run": {"POST": "schedule"},
    "api/v1/views": dict.fromkeys(("GET", "POST"), "view_team"),
    "api/v1/views/<uuid:view_id>": {**TEAM, "PATCH": "manage_views", "DELETE": "manage_views"},
    "api/v1/files": {**READ, "POST": "run"},
    "api/v1/files/<uuid:file_id>": {**READ, "DELETE": "delete"},
    "api/v1/documents": {**TEAM, "POST": "manage_agents"},
    "api/v1/documents/<uuid:document_id>": {**TEAM, "DELETE": "manage_agents"},
    # People of the team may read these two; keys, which these insiders have, only with more.
    "api/v1/runs/<uuid:run_id>/context": {"GET": "manage_agents"},
    "api/v1/wisdom": {"GET": "manage_agents", "POST": "manage_agents"},
    "api/v1/wisdom/<uuid:note_id>": {"DELETE": "manage_agents"},
    "api/v1/profile": {"GET": "view", "PUT": "view"},
}
STREAMS: dict[str, dict[str, str]] = {
    "api/v1/runs": {"POST": "run"},
    "api/v1/runs/<uuid:run_id>/events": READ,
    "api/v1/runs/<uuid:run_id>/export": READ,
    "api/v1/files": {"POST": "run"},
    "api/v1/files/<uuid:file_id>/content": {**READ, "HEAD": "view"},
    "api/v1/runs/<uuid:run_id>/stream": {**READ, "HEAD": "view", "POST": "ingest"},
}


def needs(route: str, door: Door, method: str) -> str | None:
    """The action; None for a door that is no part of the API."""
    if route.startswith("api/v1/"):
        return (NEEDS if DJANGO.get(route) is door else STREAMS)[route][method]
    if "agui" in route or route == r"^$":
        reads = method == "GET" or "connect" in route
        return "view" if reads else "cancel_others" if "stop" in route else "run"
    return None


async def insiders(cast: Cast) -> dict[str, tuple[dict[str, str], Any]]:
    """Headers, and whether the action is theirs; who may least comes first."""

    def bare_key() -> str:
        return keys.create_key(cast.team, "bare", Role.OWNER, scopes=[Scope.INGEST])[1]

    bare = await db(bare_key)
    callers: dict[str, tuple[dict[str, str], Any]] = {
        "bare key": ({"authorization": f"Bearer {bare}"}, within([Scope.INGEST]).__contains__)
    }
    for actor in (cast.vera, cast.bob):
        headers = {**actor.headers, **actor.cookie}
        role = actor.role
        callers[actor.user.username] = (headers, lambda action, role=role: allowed(role, action))
    return callers


def doors() -> Iterator[Any]:
    """Those of the API: whatever a door's method takes, it has an action."""
    for kind, table in (("page", DJANGO), ("stream", ASGI)):
        for route, door in table.items():
            if any(needs(route, door, method) for method in door.answers):
                yield pytest.param(route, door, id=f"{route} {kind}")


@pytest.mark.parametrize(("route", "door"), [*doors()])
async def test_what_the_table_allows(house: House, bell: None, route: str, door: Door) -> None:
    state, callers = Reread(house.state), await insiders(house.cast)
    for method, who in door.answers.items():
        action = needs(route, door, method)
        if action is None:
            continue
        for name, (headers, has) in callers.items():
            before = await db(state)
            answer = await knock(
                method, house.url(door, route), {**headers, **door.headers}, house.body(door)
            )
            what = f"{method} {route} by {name}: {answer.status} {answer.text[:300]}"
            if has(action):
                assert answer.status == who.owner, what
            else:
                assert answer.status == 403, what
                assert await db(state) == before, what


@pytest.mark.parametrize("route", SOCKETS)
async def test_sockets(house: House, bell: None, route: str) -> None:
    door = SOCKETS[route]
    owner = door.answers["WS"].owner
    if owner in (STAYS_OPEN, NEVER_OPENS):
        return  # what it lets them do: ``test_requests_of_the_host_socket``
    for headers, has in (await insiders(house.cast)).values():
        _, code = await watch(house.url(door, route), {**OWN, **headers})
        assert code == (owner if has("view") or owner == 4404 else 4403)


REQUESTS = {
    "run.start": "run",
    "run.cancel": "cancel_others",
    "run.say": "run",
    "interrupt.answer": "answer",
    "run.subscribe": "view",
    "team.subscribe": "view",
    "thread.subscribe": "view",
}
"""The rest of ``METHODS`` is about the socket itself."""


async def test_requests_of_the_host_socket(house: House, bell: None) -> None:
    for name, (headers, has) in (await insiders(house.cast)).items():
        before = await db(house.state)
        async with calling({**OWN, **headers}) as peer:
            for method, action in REQUESTS.items():
                if not has(action):
                    template, _ = METHODS[method]
                    params = {
                        key: house.named(value) if isinstance(value, str) else value
                        for key, value in template.items()
                    }
                    assert await peer.refused(method, **params) == "forbidden", (name, method)
        assert await db(house.state) == before, name
