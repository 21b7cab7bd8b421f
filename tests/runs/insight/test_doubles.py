"""Doubles: a tool that was called again with the same arguments for the same request."""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from json import dumps
from typing import Any
from uuid import UUID

import pytest
import uuid6

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.calls import Calls
from events.writer import JournalWriter
from runs.access import again
from runs.lifecycle.insight import storing
from runs.lifecycle.insight.reading import Read, RunRow
from runs.models import Run, ToolCall
from tests.cast import Cast, Register, perform, start
from tests.runs.insight.conftest import ARGUMENTS, answer, asks, call, doubles, played, ran

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_same_call_twice_in_a_run(cast: Cast) -> None:
    spelled = '{ "amount":5, "order" : 7 }'
    run = ran(cast.alice, call("a"), call("b", spelled), call("c", '{"order": 8}'))
    assert storing.run_once(20) == 1
    [(run_id, seq, kind)] = doubles()
    second = ToolCall.objects.of_any_team().get(call="b")
    assert (run_id, seq, kind) == (str(run.pk), second.seq, "ok")
    assert second.took_ms is not None
    assert storing.run_once(20) == 0


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (call("a"), "ok"),
        (call("a", result=None), "none"),
        (call("a", result='{"error": "timeout"}'), "error"),
        (call("a", result="Error: card declined"), "error"),
        (call("a", result="declined", metadata={"isError": True}), "error"),
        (call("a", result='{"error": null, "errors": 0}'), "ok"),
    ],
)
def test_a_call_is_told_apart_by_the_outcome_before_it(
    cast: Cast, first: list[Any], kind: str
) -> None:
    ran(cast.alice, first, call("b"))
    storing.run_once(20)
    assert [outcome for _, _, outcome in doubles()] == [kind]


def test_other_calls_are_no_doubles(cast: Cast) -> None:
    ran(cast.alice, call("a"), call("b", '{"order": 8}'), call("c", name="refund"), **asks("one"))
    ran(cast.alice, call("d"), threadId="other", **asks("two"))
    ran(cast.alice, call("e"), threadId="t", **asks("one"))
    ran(cast.alice, call("f"), threadId="t", **asks("two"))
    ran(cast.charlie, call("a"))
    storing.run_once(20)
    assert ToolCall.objects.of_any_team().count() == 7
    assert doubles() == []


async def test_a_snapshot_makes_no_call_again(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """Many frameworks send the whole conversation, with earlier calls, in each run."""

    async def works(ctx: Any) -> AsyncIterator[Any]:
        messages = list(ctx.body["messages"])
        if not any("toolCalls" in message for message in messages):
            for event in call("a"):
                yield event
            made = {"name": "charge", "arguments": ARGUMENTS}
            calls = [{"id": "a", "type": "function", "function": made}]
            messages.append({"id": "m", "role": "assistant", "toolCalls": calls})
            messages.append({"id": "r", "role": "tool", "toolCallId": "a", "content": "{}"})
        yield {"type": "MESSAGES_SNAPSHOT", "messages": messages}

    agent = await db(register, "works", works)
    for text in ("one", "two"):
        run = await db(partial(start, cast.alice, agent, threadId="t", **asks(text)))
        await perform(run, writer)
    await db(storing.run_once, 20)
    assert await db(ToolCall.objects.of_any_team().count) == 1


def test_an_attempt_that_was_repeated(cast: Cast) -> None:
    lost = ran(cast.alice, call("a", result=None), **asks("one"))
    repeated = start(cast.alice, threadId=lost.thread.thread_id, **asks("one"))
    Run.objects.of_any_team().filter(pk=repeated.pk).update(repeats=lost.pk)
    played(repeated, call("a"))
    storing.run_once(20)
    [(run_id, _, kind)] = doubles()
    assert (run_id, kind) == (str(repeated.pk), "none")


def test_an_attempt_that_was_taken_up_by_another_worker(cast: Cast) -> None:
    ran(cast.alice, call("a", result=None), call("a-again"))
    storing.run_once(20)
    assert [kind for _, _, kind in doubles()] == ["none"]


def test_a_run_that_people_ran_again(cast: Cast) -> None:
    first = ran(cast.alice, call("a"), **asks("one"))
    second = again.run_again(cast.alice.principal, first.pk)
    played(second)
    third = again.run_again(cast.alice.principal, second.pk)
    played(third, call("b"))
    fourth = ran(cast.alice, call("c"), threadId=first.thread.thread_id, **asks("one"))
    storing.run_once(20)
    assert doubles() == [
        (str(third.pk), ToolCall.objects.of_any_team().get(call="b").seq, "ok"),
        (str(fourth.pk), ToolCall.objects.of_any_team().get(call="c").seq, "ok"),
    ]


def test_the_result_can_come_in_a_later_run(cast: Cast) -> None:
    first = ran(cast.alice, call("a", result=None), **asks("one"))
    ran(cast.alice, [answer("a", "Error: no")], threadId=first.thread.thread_id, **asks("two"))
    storing.run_once(20)
    [row] = ToolCall.objects.of_any_team()
    assert (row.status, row.result) == ("error", "Error: no")


def log_of_calls(calls: list[tuple[str, str]]) -> Calls:
    fold, seq = Calls(), 0
    for number, (arguments, result) in enumerate(calls):
        for event in call(f"c{number}", arguments, result):
            seq += 1
            fold.feed(seq, event)
    return fold


@pytest.mark.slow
def test_all_planted_doubles_of_ten_thousand_runs_are_found(cast: Cast) -> None:
    """Every third run calls with other arguments after an error, as agents do; some call twice."""
    chance, at, echo = random.Random(7), datetime.now(UTC), cast.echo.pk
    planted: dict[tuple[UUID, int], str] = {}
    reads: list[Read] = []
    root, earlier = UUID(int=0), list[tuple[str, str]]()
    for number in range(10_000):
        key = uuid6.uuid7()
        is_attempt = number % 10 == 1  # of the run before
        root = root if is_attempt else key
        calls = [(dumps({"order": number, "n": n}), "{}") for n in range(chance.randrange(1, 4))]
        if number % 3 == 0:
            calls.append((dumps({"order": number, "n": -1}), "Error: no such order"))
            calls.append((dumps({"order": number, "n": -2}), "{}"))
        if chance.random() < 0.05:
            twice = chance.choice(calls)
            calls.append((twice[0], "{}"))
            kind = "error" if twice[1].startswith("Error") else "ok"
            planted[key, len(calls) - 1] = kind
        elif is_attempt and chance.random() < 0.5:
            calls.append((earlier[0][0], "{}"))
            planted[key, len(calls) - 1] = "ok"
        earlier = calls
        run = RunRow(key, cast.team.pk, key, echo, None, "succeeded", "", "", 1, at, 1, "{}", "")
        reads.append(Read(run, log_of_calls(calls), root))
    chance.shuffle(reads)  # workers read them in any order
    for first in range(0, len(reads), 200):
        batch = reads[first : first + 200]
        storing._store_calls(batch, {read.run.id: "" for read in batch})
    rows = ToolCall.objects.of_any_team().exclude(double="")
    by_call = {(row.run_id, int(row.call[1:])): row.double for row in rows}
    assert len(planted) > 500
    assert by_call == planted
