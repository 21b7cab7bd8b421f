"""The schema of an agent's state: who sets it, who sees it, and what a wrong state leads to."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent, OnBadState
from events.models import Finding
from events.writer import JournalWriter
from tests.asgi import ask
from tests.cast import Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}
URL = "/api/v1/agents/echo"
FITS, WRONG = {"count": 1}, {"count": "many"}


async def set_up(cast: Cast, **values: Any) -> None:
    answer = await ask("PATCH", URL, cast.alice.headers, json={"state_schema": SCHEMA, **values})
    assert answer.status == 200, answer.body
    assert answer.json["state_schema"] == SCHEMA


async def test_an_admin_sets_it_and_clients_discover_it(cast: Cast) -> None:
    refused = await ask("PATCH", URL, cast.bob.headers, json={"state_schema": SCHEMA})
    assert refused.status == 403
    await set_up(cast)
    info = await ask("GET", "/agui/info", cast.vera.headers)
    assert info.json["agents"]["echo"]["stateSchema"] == SCHEMA
    removed = await ask("PATCH", URL, cast.alice.headers, json={"state_schema": None})
    assert removed.json["state_schema"] is None


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "object", "$ref": "http://x/"}])
async def test_a_schema_that_cannot_be_checked_is_refused(cast: Cast, schema: Any) -> None:
    answer = await ask("PATCH", URL, cast.alice.headers, json={"state_schema": schema})
    assert answer.status == 422


def test_the_schema_of_the_code_is_shown_until_the_team_sets_one(cast: Cast) -> None:
    registry.agent("counting", state_schema=SCHEMA)(lambda ctx: "1")
    row = Agent.objects.create(team=cast.team, slug="counting", name="C", target="counting")
    assert registry.state_schema_of(row) == SCHEMA
    row.state_schema = {"type": "object"}
    assert registry.state_schema_of(row) == {"type": "object"}


@pytest.mark.parametrize(("rule", "status"), [("ignore", 202), ("note", 202), ("refuse", 422)])
async def test_a_start_with_a_wrong_state(cast: Cast, rule: str, status: int) -> None:
    await set_up(cast, on_bad_state=rule)
    for number, state in enumerate((FITS, {}, WRONG)):
        names = {"threadId": f"t{number}", "runId": "r"}
        body = {"agent": "echo", "input": {**names, "messages": [], "state": state}}
        answer = await ask("POST", "/api/v1/runs", cast.alice.headers, json=body)
        assert answer.status == (status if state == WRONG else 202), answer.body
    if status == 422:
        assert answer.json["error"]["code"] == "state_refused"
        assert answer.json["error"]["details"]["problems"][0]["path"]


@pytest.mark.parametrize("rule", OnBadState.values)
@pytest.mark.parametrize("end", [FITS, WRONG])
async def test_the_state_at_the_end_is_compared(
    cast: Cast, register: Register, writer: JournalWriter, rule: str, end: Any
) -> None:
    agent = await db(
        register, "counting", lambda ctx: ctx.emit({"type": "STATE_SNAPSHOT", "snapshot": end})
    )
    agent.state_schema, agent.on_bad_state = SCHEMA, rule
    await db(agent.save)
    run = await perform(await db(lambda: start(cast.alice, agent)), writer)
    assert run.status == "succeeded"
    rules = await db(lambda: list(Finding.objects.filter(journal=run.pk).values_list("rule")))
    assert rules == ([("state_schema",)] if rule != "ignore" and end == WRONG else [])
