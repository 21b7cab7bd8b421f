"""Messages that a run never read: the next run of their thread brings them."""

import json

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record
from agui_host.runtimes.context.run_context import RunContext
from agui_host.teams.actors import actor
from events.writer import JournalWriter
from runs.lifecycle import lifecycle, repetition
from runs.lifecycle.steering import messages
from runs.models import Run
from tests.cast import Cast, LiveRun, Register, fresh, log_of, perform, start
from tests.runs.steering.test_messages import conversation, listed, send, user_message

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_next_run_of_the_thread_gets_them_once(cast: Cast, writer: JournalWriter) -> None:
    first = await db(start, cast.alice, threadId="t", messages=[user_message("One.", "u1")])
    await send(first, cast.alice, "kept", "Do not forget.")
    await perform(first, writer)
    second = await db(start, cast.alice, threadId="t", messages=[user_message("Two.", "u2")])
    await perform(second, writer)
    (row,) = await db(listed, first, cast.alice)
    assert (row["seen_seq"], row["carried_by"]) == (None, str(second.pk))
    echoed = (await db(log_of, second))[0]["input"]["messages"]
    assert [message["id"] for message in echoed] == ["kept", "u2"]
    third = await db(start, cast.alice, threadId="t", messages=[user_message("Three.", "u3")])
    await perform(third, writer)
    whole = conversation(*[await db(log_of, run) for run in (first, second, third)])
    assert [content for role, content in whole if role == "user"].count("Do not forget.") == 1


async def test_more_than_one_run_can_bring_comes_with_those_after_it(
    cast: Cast, writer: JournalWriter
) -> None:
    words = "\x01" * messages.LONGEST  # six times as long in JSON

    def fill() -> list[Run]:
        sender, runs = actor(cast.alice.principal), []
        for _ in range(2):
            runs.append(start(cast.alice, threadId="t", onBusy="enqueue"))
            for number in range(10):
                messages.send(runs[-1], f"{len(runs)}-{number}", words, sender)
        for run in runs:
            lifecycle.cancel(run)
        return runs

    await db(fill)
    brought: list[str] = []
    for number in range(7):
        run = await db(start, cast.alice, threadId="t", messages=[user_message("Hm", f"{number}")])
        await perform(run, writer)
        assert (await db(fresh, run)).status == "succeeded"
        echoed = (await db(log_of, run))[0]["input"]["messages"]
        brought += [message["id"] for message in echoed[:-1]]
    assert brought == [f"{run}-{number}" for run in (1, 2) for number in range(10)]


async def test_another_message_of_the_thread_has_its_id(cast: Cast, writer: JournalWriter) -> None:
    """Ids are those of one run; none is lost because another run has had the same."""
    first = await db(start, cast.alice, threadId="t", messages=[user_message("One.", "m1")])
    await send(first, cast.alice, "m1", "Do not forget.")
    queued = await db(
        start, cast.alice, threadId="t", onBusy="enqueue", messages=[user_message("Two.", "u2")]
    )
    await send(queued, cast.alice, "m1", "Nor this.")
    await perform(first, writer)
    await db(lifecycle.cancel, queued)
    third = await db(start, cast.alice, threadId="t", messages=[user_message("Three.", "u3")])
    await perform(third, writer)
    echoed = (await db(log_of, third))[0]["input"]["messages"]
    assert [message["content"] for message in echoed] == [
        "Do not forget.",
        "Nor this.",
        "Three.",
    ]
    assert len({message["id"] for message in echoed} | {"m1"}) == 4


def test_an_id_that_looks_like_a_new_one() -> None:
    """A remote agent sends its messages in any order, and ``a~b`` could be a new id of ``a``."""
    pending = [("a", 1), ("a~b", 2)]
    records = [
        Record("TEXT_MESSAGE_START", json.dumps({"messageId": id, "role": "user"}).encode(), 0.0)
        for id in ("a~b", "a~run")
    ]
    assert messages.places_of(pending, records, 7) == {2: 7, 1: 8}


async def test_a_client_that_sends_it_itself(cast: Cast, writer: JournalWriter) -> None:
    first = await db(start, cast.alice, threadId="t", messages=[user_message("One.", "u1")])
    await send(first, cast.alice, "kept", "Do not forget.")
    await perform(first, writer)
    both = [user_message("Do not forget.", "kept"), user_message("Two.", "u2")]
    second = await db(start, cast.alice, threadId="t", messages=both)
    await perform(second, writer)
    echoed = (await db(log_of, second))[0]["input"]["messages"]
    assert [message["id"] for message in echoed] == ["kept", "u2"]


async def test_a_new_attempt_gets_all_of_them_again(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    async def agent(ctx: RunContext) -> str:
        inbox = aiter(ctx.inbox)
        return " ".join([(await anext(inbox)).content for _ in range(2)])

    row = await db(register, "again", agent, repeatable=True)
    lost = await db(start, cast.alice, row, threadId="t", messages=[user_message("Go.", "u1")])
    for id in ("a", "b"):
        await send(lost, cast.alice, id, f"message {id}")
    live = await LiveRun.begin(lost, writer)  # a worker that has read the first one, and dies
    await live.say("begun")
    await db(messages.note_seen(lost.pk, {1: 2}))
    await db(repetition.end_lost, await db(fresh, lost))
    repeated = await db(lambda: Run.objects.get(repeats=lost.pk))
    await perform(repeated, writer)
    log = await db(log_of, repeated)
    assert conversation(log)[-1] == ("assistant", "message a message b")
    assert all(row["carried_by"] or row["seen_seq"] for row in await db(listed, lost, cast.alice))
    after = await db(start, cast.alice, threadId="t", messages=[user_message("More.", "u2")])
    await perform(after, writer)
    echoed = (await db(log_of, after))[0]["input"]["messages"]
    assert [message["id"] for message in echoed] == ["u2"]
