"""Each request of the host socket: what it does, what it answers, and what it refuses."""

from typing import Any
from uuid import uuid4

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.cast import Cast, LiveRun, fresh, log_of, perform, start
from tests.runs.asking import interrupted, question
from tests.web.calling import Peer, calling

pytestmark = pytest.mark.django_db(transaction=True)
INPUT = {"messages": [{"role": "user", "content": "hello"}]}


async def stored(live: LiveRun) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(await db(log_of, live.run), 1))


class TestStart:
    async def test_starts_and_subscribes(self, cast: Cast, writer: JournalWriter) -> None:
        async with calling(cast.bob.headers, subprotocols=["agui.host.v1"]) as peer:
            assert peer.subprotocol == "agui.host.v1"
            result = await peer.call("run.start", agent="echo", input=INPUT, subscribe=0)
            assert result["run"]["status"] == "queued"
            run = await db(Run.objects.get)
            assert result["run"]["id"] == str(run.pk)
            await perform(run, writer)
            events, reason = await peer.until_end(result["subscription"])
        assert events == list(enumerate(await db(log_of, run), 1))
        assert reason == "finished"

    async def test_without_subscribe_nothing_is_sent(self, cast: Cast, bell: None) -> None:
        async with calling(cast.bob.headers) as peer:
            assert set(await peer.call("run.start", input=INPUT)) == {"run"}
            assert await peer.call("ping") == {}
            assert peer.notes == []

    async def test_the_same_key_is_the_same_run(self, cast: Cast, bell: None) -> None:
        async with calling(cast.bob.headers) as peer:
            first, again = [
                await peer.call("run.start", input=INPUT, idempotency_key="k") for _ in range(2)
            ]
            assert first["run"]["id"] == again["run"]["id"]
            other = {**INPUT, "state": {"n": 1}}
            refused = await peer.refused("run.start", input=other, idempotency_key="k")
            assert refused == "idempotency_conflict"

    async def test_what_the_api_refuses_is_refused(self, cast: Cast, bell: None) -> None:
        await db(start, cast.alice, threadId="busy")
        busy = {"threadId": "busy"}
        async with calling(cast.alice.headers) as peer:
            assert await peer.refused("run.start", input=busy, on_busy="reject") == "thread_busy"
            assert await peer.refused("run.start", agent="nobody", input={}) == "unknown_agent"
            assert await peer.refused("run.start", input=[]) == "invalid"
            assert await peer.refused("run.start", input={}, on_busy="perhaps") == "invalid"
            assert await peer.refused("run.start", input={}, subscribe=3) == "bad_cursor"
            assert await peer.refused("run.start", input={}, subscribe="x") == "bad_cursor"
        async with calling(cast.vera.headers) as peer:
            assert await peer.refused("run.start", input={}) == "forbidden"
        assert await db(Run.objects.count) == 1


class TestCancelAndAnswer:
    async def test_cancel(self, cast: Cast, bell: None) -> None:
        run = await db(start, cast.alice)
        async with calling(cast.alice.headers) as peer:
            result = await peer.call("run.cancel", run=str(run.pk))
            assert result["run"]["status"] == "cancelled"
            again = await peer.call("run.cancel", run=str(run.pk))
            assert again == result
        assert (await db(fresh, run)).status == "cancelled"

    async def test_answer(self, cast: Cast, bell: None) -> None:
        schema = {"type": "object", "required": ["yes"]}
        await db(interrupted, cast.alice, question("i", responseSchema=schema))
        async with calling(cast.alice.headers) as peer:
            key = str((await db(lambda: Run.objects.get().interrupts.get())).pk)
            params = {"interrupt": key, "status": "resolved"}
            assert await peer.refused("interrupt.answer", **params) == "interrupt_answer_invalid"
            bad = await peer.answer("interrupt.answer", interrupt=key, status="perhaps")
            assert bad["error"]["data"]["code"] == "invalid"
            assert "status" in bad["error"]["data"]["details"]
            result = await peer.call("interrupt.answer", **params, payload={"yes": True})
            assert result["interrupt"]["status"] == "answered"
            run = result["run"]["id"]
            other = await peer.refused("interrupt.answer", **params, payload={"yes": False})
            assert other == "interrupt_answered"
        assert await db(Run.objects.filter(pk=run).count) == 1


class TestRunSubscribe:
    async def test_a_live_run_from_any_cursor(self, cast: Cast, live: LiveRun) -> None:
        cursors: list[dict[str, int]] = [{}, {"after": 0}, {"after": 2}, {"after": 4}]
        run, names = str(live.run.pk), {}
        async with calling(cast.vera.headers) as peer:
            for cursor in cursors:
                name = (await peer.call("run.subscribe", run=run, **cursor))["subscription"]
                names[name] = cursor.get("after", 0)
            await live.say("d")
            await live.end()
            notes = [await peer.note() for _ in range(6 + 6 + 4 + 2 + len(names))]
        for name, after in names.items():
            *events, end = [note for note in notes if note["params"]["subscription"] == name]
            received = [(note["params"]["seq"], note["params"]["event"]) for note in events]
            assert received == (await stored(live))[after:]
            assert end["params"]["reason"] == "finished"

    async def test_an_ended_run_at_its_end(self, cast: Cast, live: LiveRun) -> None:
        await live.end()
        async with calling(cast.vera.headers) as peer:
            result = await peer.call("run.subscribe", run=str(live.run.pk), after=5)
            assert await peer.until_end(result["subscription"]) == ([], "finished")

    async def test_bad_cursors(self, cast: Cast, live: LiveRun) -> None:
        run = str(live.run.pk)
        async with calling(cast.vera.headers) as peer:
            for after in (-1, 5, "1", 1.5, True, [], {}):
                assert await peer.refused("run.subscribe", run=run, after=after) == "bad_cursor"
            assert await peer.refused("run.subscribe", run="x") == "invalid"
            assert await peer.refused("run.subscribe") == "invalid"
            for window in (0, -1, 10_001, "1", True):
                assert await peer.refused("run.subscribe", run=run, window=window) == "invalid"
        await live.end()

    async def test_unsubscribe(self, cast: Cast, live: LiveRun) -> None:
        async with calling(cast.vera.headers) as peer:
            name = (await peer.call("run.subscribe", run=str(live.run.pk)))["subscription"]
            assert (await peer.params("event"))["seq"] == 1
            assert await peer.call("unsubscribe", subscription=name) == {}
            assert await peer.call("unsubscribe", subscription=name) == {}
            peer.notes.clear()
            await live.say("d")
            await live.end()
            again = (await peer.call("run.subscribe", run=str(live.run.pk)))["subscription"]
            events, _ = await peer.until_end(again)
            assert len(events) == 6
            assert [note for note in peer.notes if note["params"]["subscription"] == name] == []
            assert await peer.refused("unsubscribe", subscription="s99") == "not_found"


class TestThreadSubscribe:
    async def test_the_runs_of_now_and_later(
        self, cast: Cast, live: LiveRun, writer: JournalWriter
    ) -> None:
        ended = live
        await ended.end()
        first = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
        async with calling(cast.vera.headers) as peer:
            await peer.call("thread.subscribe", thread_id="t")
            assert (await peer.params("event"))["run"] == str(first.run.pk)
            await first.end()
            second = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
            other = await LiveRun.begin(await db(start, cast.alice, threadId="u"), writer)
            await second.end()
            await other.end()
            received = [await peer.params("event") for _ in range(3)]
        assert [(each["run"], each["seq"]) for each in received] == [
            (str(first.run.pk), 2), (str(second.run.pk), 1), (str(second.run.pk), 2),
        ]  # fmt: skip

    async def test_from_the_start_and_from_a_place(
        self, cast: Cast, live: LiveRun, writer: JournalWriter
    ) -> None:
        await live.end()
        second = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
        await second.end()
        one, two = str(live.run.pk), str(second.run.pk)
        whole = [(one, n) for n in range(1, 6)] + [(two, 1), (two, 2)]
        for after, expected in (
            (0, whole),
            ({"run": one, "seq": 3}, whole[3:]),
            ({"run": one, "seq": 5}, whole[5:]),
            ({"run": two, "seq": 1}, whole[6:]),
        ):
            async with calling(cast.vera.headers) as peer:
                await peer.call("thread.subscribe", thread_id="t", after=after)
                received = [await peer.params("event") for _ in expected]
                assert [(each["run"], each["seq"]) for each in received] == expected
                third = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
                assert (await peer.params("event"))["run"] == str(third.run.pk)
                await third.end()
                await db(Run.objects.filter(pk=third.run.pk).delete)

    async def test_refusals(self, cast: Cast, live: LiveRun, writer: JournalWriter) -> None:
        other = await LiveRun.begin(await db(start, cast.alice, threadId="u"), writer)
        place = {"run": str(other.run.pk), "seq": 0}
        async with calling(cast.vera.headers) as peer:
            for thread_id, after, code in (
                ("t", 3, "invalid"),
                ("t", "x", "bad_cursor"),
                ("t", {"run": str(live.run.pk), "seq": 9}, "bad_cursor"),
                ("t", place, "not_found"),
                ("t", {"run": str(uuid4()), "seq": 0}, "not_found"),
                ("nowhere", None, "not_found"),
                ("", None, "invalid"),
            ):
                refused = await peer.refused("thread.subscribe", thread_id=thread_id, after=after)
                assert refused == code, (thread_id, after)
        await live.end()
        await other.end()


async def all_methods(peer: Peer, run: Any, interrupt: Any) -> dict[str, str]:
    return {
        "run.cancel": await peer.refused("run.cancel", run=str(run)),
        "interrupt.answer": await peer.refused(
            "interrupt.answer", interrupt=str(interrupt), status="cancelled"
        ),
        "run.subscribe": await peer.refused("run.subscribe", run=str(run)),
        "thread.subscribe": await peer.refused("thread.subscribe", thread_id="t"),
    }


async def test_strangers_get_not_found(cast: Cast, live: LiveRun) -> None:
    interrupt = await db(interrupted, cast.alice, question("i"), thread="asking")
    key = await db(lambda: interrupt.interrupts.get().pk)
    async with calling(cast.charlie.headers) as peer:
        assert set((await all_methods(peer, live.run.pk, key)).values()) == {"not_found"}
        nowhere = await all_methods(peer, uuid4(), uuid4())
        assert set(nowhere.values()) == {"not_found"}
        mine = await peer.call("run.start", input={"threadId": "t", "runId": "r"})
        assert mine["run"]["id"] != str(live.run.pk)
    assert (await db(fresh, live.run)).cancel_requested_at is None
    await live.end()


async def test_a_cancelled_queue_reaches_its_subscriber(cast: Cast, bell: None) -> None:
    run = await db(start, cast.alice)
    async with calling(cast.alice.headers) as peer:
        name = (await peer.call("run.subscribe", run=str(run.pk)))["subscription"]
        await db(lifecycle.cancel, run)
        events, reason = await peer.until_end(name)
    assert [event["type"] for _, event in events][-1] == "RUN_FINISHED"
    assert reason == "finished"
