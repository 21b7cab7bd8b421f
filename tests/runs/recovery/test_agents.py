"""``recovery`` of an agent: in code, in the API, and for which kinds."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from tests.asgi import Answer, ask
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)


async def change(cast: Cast, slug: str, **values: Any) -> Answer:
    return await ask("PATCH", f"/api/v1/agents/{slug}", cast.alice.headers, json=values)


async def test_it_is_shown_and_changed(cast: Cast) -> None:
    first = (await ask("GET", "/api/v1/agents/echo", cast.alice.headers)).json
    assert (first["recovery"], first["recovery_attempts"], first["recovery_pause"]) == ("end", 5, 1)
    answer = await change(
        cast, "echo", recovery="continue", recovery_attempts=3, recovery_pause=0.5,
        on_code_change="end",
    )  # fmt: skip
    assert answer.status == 200
    row = await db(lambda: cast.echo)
    assert (row.recovery, row.recovery_attempts, row.recovery_pause) == ("continue", 3, 0.5)
    assert (row.continues, row.on_code_change) == (True, "end")


@pytest.mark.parametrize(
    "values",
    [{"recovery": "sometimes"}, {"recovery_attempts": 0}, {"recovery_attempts": 21},
     {"on_code_change": "ask"}, {"recovery_pause": -1}, {"recovery_pause": 1e9}, {"recoveries": 1}],
)  # fmt: skip
async def test_nonsense_is_refused(cast: Cast, values: dict[str, Any]) -> None:
    assert (await change(cast, "echo", **values)).status == 422


async def test_other_kinds_cannot_continue(cast: Cast) -> None:
    await db(
        lambda: Agent.objects.create(team=cast.team, slug="far", name="far", kind="orchestrator")
    )
    answer = await change(cast, "far", recovery="continue")
    assert (answer.status, answer.json["error"]["details"]) == (422, {"path": "recovery"})


def test_code_says_it(cast: Cast) -> None:
    registry.agent("lasting", recovery="continue", on_code_change="end")(lambda ctx: None)
    (row,) = (row for row in registry.provision(cast.team) if row.slug == "lasting")
    assert (row.recovery, row.on_code_change) == ("continue", "end")
