"""A question that came by CUSTOM is one like any other, and its answer goes back as it expects."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.views.legacy import ending
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run, Status
from tests.asgi import ask
from tests.cast import Cast, Register, log_of, perform, start
from tests.runs.asking import resume, standing, yes

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = {"type": "CUSTOM", "name": "on_interrupt", "value": '{"question": "Sure?"}'}


class Asker:
    """Asks in its first run; ``inputs`` are what its runs were given."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    async def __call__(self, ctx: Any) -> AsyncIterator[Any]:
        self.inputs.append(ctx.body)
        if len(self.inputs) == 1:
            yield {**QUESTION, "rawEvent": {"id": "lg"}}
        else:
            yield {"type": "CUSTOM", "name": "done", "value": 1}


async def first_run(
    cast: Cast, register: Register, writer: JournalWriter, asker: Asker, **rules: Any
) -> tuple[Agent, Run]:
    row: Agent = await db(register, "asker", asker.__call__)
    for name, value in rules.items():
        setattr(row, name, value)
    await db(row.save)
    return row, await perform(await db(start, cast.alice, row, threadId="t"), writer)


async def test_it_is_listed_and_answered(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    asker = Asker()
    _, run = await first_run(cast, register, writer, asker)
    assert run.status == Status.INTERRUPTED
    listed = await ask("GET", f"/api/v1/interrupts?run={run.pk}", cast.alice.headers)
    (row,) = listed.json["results"]
    assert (row["interrupt_id"], row["message"], row["status"]) == ("lg", "Sure?", "open")
    path = f"/api/v1/interrupts/{row['id']}/answer"
    answer = await ask("POST", path, cast.alice.headers, json={"approved": True})
    second = await db(Run.objects.get, pk=answer.json["run"]["id"])
    assert (await perform(second, writer)).status == Status.SUCCEEDED
    command = asker.inputs[1]["forwardedProps"]["command"]
    assert command == {"resume": {"approved": True}, "interruptEvent": '{"question":"Sure?"}'}
    assert "resume" not in asker.inputs[1]


async def test_an_answer_of_agui_goes_the_same_way(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    asker = Asker()
    agent, _ = await first_run(cast, register, writer, asker)
    run = await db(lambda: resume(cast.alice, yes("lg", "later"), agent=agent))
    await perform(run, writer)
    assert asker.inputs[1]["forwardedProps"]["command"]["resume"] == "later"


async def test_a_front_end_of_0x_sees_no_interrupt_and_answers_as_it_did(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    asker = Asker()
    agent, run = await first_run(cast, register, writer, asker)
    log = await db(log_of, run)
    assert "outcome" not in ending(log[-1])
    props = {"command": {"resume": "yes"}}
    second = await db(lambda: start(cast.alice, agent, threadId="t", forwardedProps=props))
    assert (await perform(second, writer)).status == Status.SUCCEEDED
    assert asker.inputs[1]["forwardedProps"] == props
    assert await db(standing) == {"lg": "answered"}


async def test_without_the_rule_nothing_is_asked(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    _, run = await first_run(cast, register, writer, Asker(), questions=[])
    assert run.status == Status.SUCCEEDED


async def test_a_team_sets_the_rules(cast: Cast) -> None:
    path, headers = "/api/v1/agents/echo", cast.alice.headers
    assert (await ask("GET", path, headers)).json["questions"] == ["on_interrupt"]
    changed = await ask("PATCH", path, headers, json={"questions": ["adk", "agno"]})
    assert changed.json["questions"] == ["adk", "agno"]
    for wrong in (["other"], ["adk"] * 4):
        assert (await ask("PATCH", path, headers, json={"questions": wrong})).status == 422
