"""What an agent is given is healed, the run says so, and the thread stays as it is."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.input.healing import NOT_EXECUTED
from agui_host.runtimes.models import Agent
from events.models import Finding
from events.writer import JournalWriter
from runs.lifecycle import history
from runs.models import Run
from tests.cast import Cast, Register, perform, start
from tests.runs.asking import question
from tests.runs.conversing import tell

pytestmark = pytest.mark.django_db(transaction=True)

Wire = dict[str, Any]
USER = {"id": "u", "role": "user", "content": "hi"}
STRAY = {"id": "s", "role": "tool", "toolCallId": "of another thread", "content": "secret"}
CUT = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "pay", "parentMessageId": "a"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"q": "al'},
]
CALL = [*CUT[:1], {"type": "TOOL_CALL_END", "toolCallId": "c"}]
ASKS = {"type": "interrupt", "interrupts": [question("i", toolCallId="c")]}


class Seeing:
    """An agent that keeps the messages it was given."""

    def __init__(self, register: Register, **fields: Any) -> None:
        self.messages: list[Wire] = []
        self.row: Agent = register("seeing", self._run, **fields)

    async def _run(self, ctx: Any) -> AsyncIterator[str]:
        self.messages = ctx.messages
        yield "seen"

    @property
    def shape(self) -> list[str]:
        return [each.get("toolCallId", each["id"]) for each in self.messages]


def findings(run: Run) -> list[tuple[int, str, str, int]]:
    rows = Finding.objects.filter(journal_id=run.pk).order_by("action")
    return list(rows.values_list("seq", "rule", "action", "times"))


async def go(cast: Cast, agent: Seeing, writer: JournalWriter, **body: Any) -> Run:
    run = await perform(await db(start, cast.alice, agent.row, threadId="t", **body), writer)
    assert run.status == "succeeded"
    return run


async def test_a_stray_result_is_in_the_thread_and_given_to_no_agent(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(Seeing, register)
    for messages in ([STRAY, USER], []):
        run = await go(cast, agent, writer, messages=messages)
        assert "of another thread" not in agent.shape
        assert await db(findings, run) == [(1, "history", "left_out", 1)]
    stored = await db(history.current, run.thread_id)
    assert stored.messages[0] == STRAY


async def test_calls_that_were_cut_off_are_closed(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(Seeing, register)
    await db(lambda: tell(cast.alice, *CUT, messages=[USER], end=lambda intake: intake.cancel()))
    run = await go(cast, agent, writer, messages=[{**USER, "id": "v"}])
    assert agent.shape == ["u", "a", "c", "v"]
    (call,), result = agent.messages[1]["toolCalls"], agent.messages[2]
    assert call["function"]["arguments"] == '{"q": "al"}'
    assert result["content"] == NOT_EXECUTED
    assert await db(findings, run) == [
        (1, "history", "answered", 1), (1, "history", "completed", 1),
    ]  # fmt: skip
    late = {"id": "t", "role": "tool", "toolCallId": "c", "content": "late"}
    await go(cast, agent, writer, messages=[late])
    assert agent.messages[2] == late, "the call's own result takes the place of ours"


async def test_a_call_without_arguments(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(Seeing, register)
    await db(lambda: tell(cast.alice, *CALL, messages=[USER]))
    result = {"id": "t", "role": "tool", "toolCallId": "c", "content": "done"}
    run = await go(cast, agent, writer, messages=[result])
    assert agent.messages[1]["toolCalls"][0]["function"]["arguments"] == "{}"
    assert agent.messages[2] == result
    assert await db(findings, run) == [(1, "history", "completed", 1)]


@pytest.mark.parametrize(
    "answer",
    [
        {"resume": [{"interruptId": "i", "status": "resolved", "payload": True}]},
        {"forwardedProps": {"command": {"resume": True}}},
    ],
)
async def test_a_call_that_waits_for_approval_is_open_for_the_run_with_the_answer(
    cast: Cast, register: Register, writer: JournalWriter, answer: Wire
) -> None:
    agent = await db(Seeing, register)
    await db(
        lambda: tell(cast.alice, *CALL, messages=[USER], end=lambda intake: intake.finish(ASKS))
    )
    run = await go(cast, agent, writer, **answer)
    assert agent.shape == ["u", "a"]
    assert await db(findings, run) == [(1, "history", "completed", 1)]
    await go(cast, agent, writer, messages=[{**USER, "id": "v"}])
    assert "c" in agent.shape, "the agent had its answer, and did nothing"


async def test_a_run_that_only_asks_again_heals_nothing(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(Seeing, register)
    await db(
        lambda: tell(cast.alice, *CALL, messages=[USER], end=lambda intake: intake.finish(ASKS))
    )
    run = await perform(await db(start, cast.alice, agent.row, threadId="t"), writer)
    assert run.status == "interrupted"
    assert (agent.messages, await db(findings, run)) == ([], [])


async def test_an_agent_may_want_the_thread_as_it_is(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(lambda: Seeing(register, heals_history=False))
    fail = lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "no")  # noqa: E731
    await db(lambda: tell(cast.alice, *CUT, messages=[STRAY, USER], end=fail))
    run = await go(cast, agent, writer)
    assert agent.shape == ["of another thread", "u", "a"]
    assert agent.messages[2]["toolCalls"][0]["function"]["arguments"] == '{"q": "al'
    assert await db(findings, run) == []
