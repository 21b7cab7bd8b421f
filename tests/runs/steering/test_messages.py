"""Messages to active runs: numbers, rights, delivery to agents, and the fate of unread ones."""

import asyncio
import json
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from agui_host.backends import work
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.fold import Fold
from agui_host.runtimes.context.run_context import RunContext
from agui_host.teams.actors import actor
from agui_host.teams.limits import LimitReached
from events.writer import JournalWriter
from runs.access import comments
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import retention
from runs.lifecycle.steering import messages
from runs.models import Run, RunMessage
from tests.asgi import Answer, ask, ask_now
from tests.cast import Actor, Cast, Register, fresh, log_of, perform, start
from tests.runs.starting import JSON, refused
from tests.web.calling import calling

pytestmark = pytest.mark.django_db(transaction=True)
DEADLINE = 20.0


def url(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}/messages"


def body(id: str = "m1", content: str = "Shorter, please.", **more: Any) -> bytes:
    return json.dumps({"id": id, "role": "user", "content": content, **more}).encode()


def post(run: Run, actor: Actor, *args: str, **more: Any) -> Answer:
    return ask_now("POST", url(run), {**JSON, **actor.headers}, body=body(*args, **more))


async def send(run: Run, actor: Actor, *args: str) -> int:
    answer = await ask("POST", url(run), {**JSON, **actor.headers}, body=body(*args))
    assert answer.status == 202, answer.body
    return int(answer.json["seq"])


def listed(run: Run, actor: Actor) -> list[dict[str, Any]]:
    answer = ask_now("GET", url(run), actor.headers)
    assert answer.status == 200
    rows: list[dict[str, Any]] = answer.json["messages"]
    return rows


def conversation(*logs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Role and content of each message that the logs add up to."""
    fold = Fold()
    for log in logs:
        for event in log:
            fold.feed(event)
    return [(message["role"], message["content"]) for message in fold.messages]


class TestTheRequest:
    def test_each_message_has_a_number_and_the_same_message_the_same(self, cast: Cast) -> None:
        run = start(cast.alice)
        numbers = [post(run, cast.alice, id).json["seq"] for id in ("a", "b", "a", "c", "b")]
        assert numbers == [1, 2, 1, 3, 2]
        assert post(run, cast.alice, "a").status == 202
        refused(post(run, cast.alice, "a", "Other words."), 409, "message_differs")
        assert [row["id"] for row in listed(run, cast.alice)] == ["a", "b", "c"]

    def test_what_the_list_shows(self, cast: Cast) -> None:
        run = start(cast.alice)
        post(run, cast.alice)
        (row,) = listed(run, cast.bob)
        assert (row["id"], row["seq"], row["role"]) == ("m1", 1, "user")
        assert (row["content"], row["seen_seq"], row["carried_by"]) == (
            "Shorter, please.", None, None,
        )  # fmt: skip
        assert row["author"] == f"key:{cast.alice.key_prefix}"

    def test_the_list_has_pages(self, cast: Cast) -> None:
        run = start(cast.alice)
        for number in range(5):
            post(run, cast.alice, f"m{number}")
        address: str | None = f"{url(run)}?limit=2"
        pages = []
        while address:
            page = ask_now("GET", address, cast.alice.headers).json
            pages.append([row["seq"] for row in page["messages"]])
            address = page["next"] and page["next"].partition("localhost")[2]
        assert pages == [[1, 2], [3, 4], [5]]
        for place in ("x", str(2**31), "-1", str(run.pk)):
            cursor = b64encode(f"p={place}".encode()).decode()
            answer = ask_now("GET", f"{url(run)}?cursor={cursor}", cast.alice.headers)
            refused(answer, 400, "bad_cursor")

    def test_rights_are_those_of_a_start(self, cast: Cast) -> None:
        run = start(cast.alice)
        assert post(run, cast.bob, "by a member").status == 202
        refused(post(run, cast.vera), 403, "forbidden")
        refused(post(run, cast.charlie), 404, "not_found")
        refused(ask_now("GET", url(run), cast.charlie.headers), 404, "not_found")

    def test_a_run_that_has_ended_or_was_purged(self, cast: Cast) -> None:
        run = start(cast.alice)
        assert post(run, cast.alice, "before").json["seq"] == 1
        lifecycle.cancel(run)
        refused(post(run, cast.alice, "after"), 409, "run_ended")
        assert post(run, cast.alice, "before").json["seq"] == 1, "a repeated request is answered"
        start(cast.alice, threadId=run.thread.thread_id)
        retention.purge_run(fresh(run))
        refused(post(run, cast.alice, "later"), 410, "purged")
        assert not RunMessage.objects.for_team(cast.team).exists()

    @pytest.mark.parametrize(
        "wrong",
        [
            b"[]", b"{}", b'"x"', body(""), body("m", ""), body("m", "x" * 100_001),
            body("i" * 201), body(role="assistant"), body(more=1), body(content=None),
            body(content=["x"]), body(id=5_000 * [1]),
            b'{"id": "m", "role": "user", "content": 7}',
            b'{"id": 1, "role": "user", "content": "x"}',
        ],
    )  # fmt: skip
    def test_nonsense(self, cast: Cast, wrong: bytes) -> None:
        run = start(cast.alice)
        answer = ask_now("POST", url(run), {**JSON, **cast.alice.headers}, body=wrong)
        assert answer.status == 422, answer.body
        assert not RunMessage.objects.for_team(cast.team).exists()

    def test_a_flood_is_limited(self, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        run = start(cast.alice)
        monkeypatch.setattr(messages, "MOST_UNREAD", 3)
        for number in range(3):
            assert post(run, cast.alice, f"m{number}").status == 202
        refused(post(run, cast.alice, "m3"), 429, "limit_reached")
        assert post(run, cast.alice, "m0").status == 202
        monkeypatch.setattr(messages, "MOST_UNREAD", 1000)
        work.charge(cast.team.pk, "parse", 100 * work.SHARE)
        refused(post(run, cast.alice, "m4"), 429, "limit_reached")
        work._buckets._left.clear()

    def test_long_messages_are_limited_by_their_size(self, cast: Cast) -> None:
        run = start(cast.alice)
        sender = actor(cast.alice.principal)
        for number in range(10):
            messages.send(run, f"m{number}", messages.LONGEST * "x", sender)
        with pytest.raises(LimitReached) as caught:
            messages.send(run, "m10", messages.LONGEST * "x", sender)
        assert caught.value.details == {"limit": "unread_bytes", "max": messages.MOST_UNREAD_BYTES}
        messages.note_seen(run.pk, {1: 2})()
        assert messages.send(run, "m10", messages.LONGEST * "x", sender) == 11

    def test_a_message_to_a_run_that_ends_this_moment_is_refused_or_kept(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        with pytest.raises(messages.RunEnded):
            comments.say(cast.alice.principal, run.pk, "late", "Hm.")

    async def test_over_the_socket(self, cast: Cast, bell: None) -> None:
        run = await db(start, cast.alice)
        params = {"run": str(run.pk), "id": "s", "role": "user", "content": "Hm."}
        async with calling(cast.alice.headers) as peer:
            assert await peer.call("run.say", **params) == {"seq": 1}
            assert await peer.call("run.say", **params) == {"seq": 1}
            assert await peer.refused("run.say", **{**params, "content": "x"}) == "message_differs"
            assert await peer.refused("run.say", **{**params, "content": 5 * [1]}) == "invalid"
            assert await peer.refused("run.say", run=str(run.pk)) == "invalid"
        async with calling(cast.vera.headers) as peer:
            assert await peer.refused("run.say", **params) == "forbidden"
        async with calling(cast.charlie.headers) as peer:
            assert await peer.refused("run.say", **params) == "not_found"


class TestTheAgent:
    async def test_it_iterates_and_the_log_has_each_message_where_it_was_read(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        async def agent(ctx: RunContext) -> AsyncIterator[str]:
            yield "Working."
            async for message in ctx.inbox:
                yield f"{message.seq}: {message['content']}"
                if message.content == "stop":
                    return

        row = await db(register, "steered", agent)
        run = await db(start, cast.alice, row, messages=[user_message("Go.")])
        working = asyncio.create_task(perform(run, writer))
        assert await until_running(run)
        for id, content in (("a", "faster"), ("b", "stop")):
            await send(run, cast.alice, id, content)
        await asyncio.wait_for(working, DEADLINE)
        log = await db(log_of, run)
        assert conversation(log) == [
            ("user", "Go."),
            ("assistant", "Working."),
            ("user", "faster"),
            ("assistant", "1: faster"),
            ("user", "stop"),
            ("assistant", "2: stop"),
        ]
        for stored in await db(listed, run, cast.alice):
            event = log[stored["seen_seq"] - 1]
            assert event["type"] == "TEXT_MESSAGE_START"
            assert (event["messageId"], event["role"]) == (stored["id"], "user")
            assert stored["seen_at"]

    async def test_a_plain_function_polls(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        def agent(ctx: RunContext) -> Iterator[str]:
            until = time.monotonic() + DEADLINE
            while time.monotonic() < until:
                if message := ctx.inbox.poll():
                    yield f"got {message.content}"
                    return
                time.sleep(0.01)

        row = await db(register, "plain", agent)
        run = await db(start, cast.alice, row)
        await send(run, cast.alice, "early", "before it began")
        await perform(run, writer)
        assert conversation(await db(log_of, run)) == [
            ("user", "before it began"),
            ("assistant", "got before it began"),
        ]

    async def test_more_messages_than_one_look_brings_in_order(
        self, cast: Cast, register: Register, writer: JournalWriter, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(messages, "BATCH", 7)
        got: list[int] = []

        async def agent(ctx: RunContext) -> None:
            async for message in ctx.inbox:
                got.append(message.seq)
                if message.seq == 50:
                    return

        run = await db(start, cast.alice, await db(register, "many", agent))

        def fill() -> None:
            for number in range(50):
                messages.send(run, f"m{number}", "x", actor(cast.alice.principal))

        await db(fill)
        began = time.monotonic()
        await perform(run, writer)
        assert got == list(range(1, 51))
        assert time.monotonic() - began < 5, "each look must follow the last at once"
        assert await db(RunMessage.objects.filter(run=run, seen_seq=None).count) == 0

    async def test_a_lost_notification_loses_no_message(
        self, cast: Cast, register: Register, writer: JournalWriter, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(messages, "_ring", lambda: None)
        reading = asyncio.Event()

        async def agent(ctx: RunContext) -> str:
            reading.set()
            return (await anext(aiter(ctx.inbox))).content

        run = await db(start, cast.alice, await db(register, "deaf", agent))
        working = asyncio.create_task(perform(run, writer))
        await reading.wait()
        await send(run, cast.alice, "a", "heard anyway")
        await asyncio.wait_for(working, DEADLINE)
        assert conversation(await db(log_of, run))[-1] == ("assistant", "heard anyway")

    async def test_it_gets_a_message_soon_after_the_answer(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        got: dict[str, float] = {}

        async def agent(ctx: RunContext) -> None:
            async for message in ctx.inbox:
                got[message.id] = time.monotonic()
                if message.id == "m99":
                    return

        run = await db(start, cast.alice, await db(register, "quick", agent))
        working = asyncio.create_task(perform(run, writer))
        took = []
        for number in range(100):
            await send(run, cast.alice, f"m{number}", "now")
            answered = time.monotonic()
            while f"m{number}" not in got:
                await asyncio.sleep(0.001)
            took.append(max(0.0, got[f"m{number}"] - answered))
        await asyncio.wait_for(working, DEADLINE)
        took.sort()
        print(f"delivery: median {took[50] * 1000:.1f} ms, p99 {took[98] * 1000:.1f} ms")
        # The look without a notification comes after a second, so this is a notified delivery.
        assert took[50] < 0.25

    async def test_only_the_named_run_gets_it(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        async def agent(ctx: RunContext) -> str:
            return (await anext(aiter(ctx.inbox))).content

        row = await db(register, "one", agent)
        runs = [await db(start, cast.alice, row) for _ in range(3)]
        working = [asyncio.create_task(perform(run, writer)) for run in runs]
        for run in reversed(runs):
            await send(run, cast.alice, "same id", f"for {run.pk}")
        await asyncio.wait_for(asyncio.gather(*working), DEADLINE)
        for run in runs:
            assert [content for _, content in conversation(await db(log_of, run))] == [
                f"for {run.pk}", f"for {run.pk}",
            ]  # fmt: skip


def user_message(content: str, id: str = "u") -> dict[str, Any]:
    return {"id": id, "role": "user", "content": content}


async def until_running(run: Run) -> bool:
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        if (await db(fresh, run)).journal.head > 1:
            return True
        await asyncio.sleep(0.01)
    return False
