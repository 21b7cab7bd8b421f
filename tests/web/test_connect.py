"""POST …/connect: what a reloaded front end is given of its thread."""

import json
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.fold import prelude
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake.intake import Intake
from runs.lifecycle import history, lifecycle
from tests.asgi import Answer, Exchange, ask, ask_now
from tests.cast import Actor, Cast, log_of, start
from tests.runs.conversing import Stream, Told, tell, text, user

pytestmark = pytest.mark.django_db(transaction=True)

CONNECT = "/agui/agent/echo/connect"
ASKED = {"type": "interrupt", "interrupts": [{"id": "q", "reason": "confirm"}]}
SNAPSHOTS = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
END_TEXT = {"type": "TEXT_MESSAGE_END", "messageId": "a2"}


def interrupt(intake: Intake) -> Any:
    return intake.finish(ASKED)


def fail(intake: Intake) -> Any:
    return intake.fail(RunErrorCode.AGENT_ERROR, "It broke.")


def cancel(intake: Intake) -> Any:
    return intake.cancel()


def body(thread: str = "t", **more: Any) -> dict[str, Any]:
    return {"threadId": thread, "runId": "new", "protocolVersion": "1.0", "messages": [], **more}


def connect(actor: Actor, thread: str = "t", **more: Any) -> Stream:
    answer = ask_now("POST", CONNECT, actor.headers, json=body(thread, **more))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    return Stream.of(answer)


def question_and_answer(actor: Actor, number: int = 1, **more: Any) -> Any:
    """A question and its answer."""
    message = [*text(f"a{number}", "an", "swer"), {**END_TEXT, "messageId": f"a{number}"}]
    question = [user(f"question {number}", f"u{number}")]
    return tell(actor, *message, messages=question, runId=f"r{number}", **more)


class TestAnEndedThread:
    def test_several_runs_come_as_one_history(self, cast: Cast) -> None:
        question_and_answer(cast.alice, 1)
        last = question_and_answer(cast.alice, 2)
        stream = connect(cast.vera)
        assert stream.types == [*SNAPSHOTS, "RUN_FINISHED"]
        assert stream.contents() == [
            ("u1", "question 1"), ("a1", "answer"), ("u2", "question 2"), ("a2", "answer"),
        ]  # fmt: skip
        assert (stream.events[0]["runId"], stream.events[-1]["runId"]) == ("r2", "r2")
        assert stream.frames[-1][0] == last.journal.head
        assert stream.ids == [last.journal.head], "a prelude that was cut must start again"

    def test_the_state_comes_too(self, cast: Cast) -> None:
        delta = [{"op": "add", "path": "/n/-", "value": 2}]
        changes: list[dict[str, Any]] = [{"type": "STATE_SNAPSHOT", "snapshot": {"n": [1]}},
                   {"type": "STATE_DELTA", "delta": delta}]  # fmt: skip
        tell(cast.alice, *changes)
        tell(cast.alice)
        assert connect(cast.alice).last("STATE_SNAPSHOT")["snapshot"] == {"n": [1, 2]}

    def test_open_questions_are_asked_again(self, cast: Cast) -> None:
        question_and_answer(cast.alice, end=interrupt)
        assert connect(cast.alice).events[-1]["outcome"] == ASKED

    def test_answered_questions_do_not_return(self, cast: Cast) -> None:
        question_and_answer(cast.alice, end=interrupt)
        tell(cast.alice, resume=[{"interruptId": "q", "status": "resolved"}])
        stream = connect(cast.alice)
        assert stream.types == [*SNAPSHOTS, "RUN_FINISHED"]
        assert "interrupts" not in json.dumps(stream.events)

    def test_a_failed_answer_leaves_the_question_open(self, cast: Cast) -> None:
        """A client keeps its pending interrupts through RUN_ERROR, if it ever heard of them."""
        question_and_answer(cast.alice, end=interrupt)
        tell(cast.alice, resume=[{"interruptId": "q", "status": "resolved"}], end=fail)
        stream = connect(cast.alice)
        assert stream.types == ["RUN_STARTED", "RUN_FINISHED", *SNAPSHOTS, "RUN_ERROR"]
        assert stream.events[1]["outcome"] == ASKED

    def test_a_failed_run(self, cast: Cast) -> None:
        question_and_answer(cast.alice, end=fail)
        ending = connect(cast.alice).events[-1]
        assert (ending["type"], ending["code"]) == ("RUN_ERROR", "agent_error")

    def test_a_cancelled_run(self, cast: Cast) -> None:
        question_and_answer(cast.alice, end=cancel)
        assert connect(cast.alice).events[-1]["outcome"] == {"type": "cancelled"}

    def test_a_cancelled_run_for_a_client_of_0x(self, cast: Cast) -> None:
        run = question_and_answer(cast.alice, end=cancel)
        stream = connect(cast.alice, protocolVersion=None)
        assert stream.types == [*SNAPSHOTS, "RUN_ERROR"]
        assert stream.events[-1]["code"] == "abort"
        assert stream.frames[-1][0] == run.journal.head
        assert log_of(run)[-1]["outcome"] == {"type": "cancelled"}, "the log stays 1.0"

    @pytest.mark.parametrize("slash", ["", "/"])
    @pytest.mark.parametrize("base", ["", "/api"])
    def test_every_address(self, cast: Cast, base: str, slash: str) -> None:
        question_and_answer(cast.alice)
        url = base + CONNECT + slash
        answer = ask_now("POST", url, cast.alice.headers, json={"thread_id": "t"})
        assert Stream.of(answer).contents() == [("u1", "question 1"), ("a1", "answer")]

    def test_a_history_beyond_any_event_comes_as_its_logs(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runs = [question_and_answer(cast.alice, 1), question_and_answer(cast.alice, 2)]
        monkeypatch.setattr(prelude, "MAX_EVENT_BYTES", 10)
        assert connect(cast.alice).events == [event for run in runs for event in log_of(run)]


class TestNothingThere:
    def test_an_unknown_thread_is_an_empty_stream(self, cast: Cast) -> None:
        assert connect(cast.alice, "nobody's").events == []

    def test_a_strangers_thread_is_an_unknown_one(self, cast: Cast) -> None:
        question_and_answer(cast.alice)
        known, unknown = (
            ask_now("POST", CONNECT, cast.charlie.headers, json=body(name))
            for name in ("t", "nobody's")
        )
        assert known.body == unknown.body
        assert Stream.of(known).events == []
        assert set(known.headers) == set(unknown.headers)

    def test_the_same_name_in_two_teams_is_two_threads(self, cast: Cast) -> None:
        question_and_answer(cast.alice, 1)
        question_and_answer(cast.charlie, 2)
        assert connect(cast.charlie).contents() == [("u2", "question 2"), ("a2", "answer")]


class TestRefusals:
    def answer(self, actor: Actor | None, data: Any, url: str = CONNECT) -> Answer:
        return ask_now("POST", url, actor.headers if actor else {}, json=data)

    @pytest.mark.parametrize(
        ("data", "status"),
        [([], 400), ("t", 400), ({}, 422), ({"threadId": 5}, 422), ({"threadId": ""}, 422)],
    )
    def test_bad_bodies(self, cast: Cast, data: Any, status: int) -> None:
        answer = self.answer(cast.alice, data)
        assert (answer.status, answer.code in ("bad_request", "invalid")) == (status, True)

    def test_an_unknown_agent(self, cast: Cast) -> None:
        answer = self.answer(cast.alice, body(), "/agui/agent/nobody/connect")
        assert (answer.status, answer.code) == (404, "unknown_agent")

    def test_nobody(self, cast: Cast) -> None:
        assert self.answer(None, body()).status == 401

    def test_a_get(self, cast: Cast) -> None:
        assert ask_now("GET", CONNECT, cast.alice.headers).status == 404


class TestALiveThread:
    async def test_in_the_middle_of_a_message(self, cast: Cast, bell: None) -> None:
        await db(question_and_answer, cast.alice)
        run = await db(start, cast.alice, threadId="t", messages=[user("and?", "u2")])
        live = await db(Told, run)
        await db(live.say, *text("a2", "half "))
        async with Exchange("POST", CONNECT, cast.vera.headers, json=body()) as exchange:
            opening = await exchange.until(b"id: 3\n")
            more = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a2", "delta": "and half"}
            await db(live.say, more, END_TEXT)
            await db(live.end)
            stream = Stream.of(opening + await exchange.rest())
        assert stream.types == [
            *SNAPSHOTS, "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
        ]  # fmt: skip
        assert stream.contents()[2:] == [("u2", "and?"), ("a2", "half ")]
        assert stream.ids == [3, 4, 5, 6], "the last of the prelude, and all of the log behind it"
        assert stream.events[4:] == (await db(log_of, run))[3:]
        assert exchange.headers["content-location"] == f"/api/v1/runs/{run.pk}/events"

    async def test_a_queued_run_comes_behind_the_history(self, cast: Cast, bell: None) -> None:
        await db(question_and_answer, cast.alice)
        run = await db(start, cast.alice, threadId="t", messages=[user("and?", "u2")])
        async with Exchange("POST", CONNECT, cast.vera.headers, json=body()) as exchange:
            opening = await exchange.until(b"RUN_FINISHED")
            live = await db(Told, run)
            await db(live.say, *text("a2", "yes"), END_TEXT)
            await db(live.end)
            stream = Stream.of(opening + await exchange.rest())
        log = await db(log_of, run)
        assert stream.types[:4] == [*SNAPSHOTS, "RUN_FINISHED"]
        assert stream.events[4:] == log
        assert stream.ids == [0, *range(1, len(log) + 1)]

    async def test_a_queued_first_run(self, cast: Cast, bell: None) -> None:
        run = await db(start, cast.alice, threadId="t")
        async with Exchange("POST", CONNECT, cast.vera.headers, json=body()) as exchange:
            await exchange.until(b"retry")
            await db(lifecycle.cancel, run)
            stream = Stream.of(await exchange.rest())
        assert stream.events == await db(log_of, run)

    async def test_what_waits_behind_the_live_run_follows(self, cast: Cast, bell: None) -> None:
        live = await db(Told, await db(start, cast.alice, threadId="t"))
        await db(live.say, *text("a1", "first"))
        waiting = await db(start, cast.alice, threadId="t", onBusy="enqueue")
        async with Exchange("POST", CONNECT, cast.vera.headers, json=body()) as exchange:
            opening = await exchange.until(b"id: ")
            await db(live.end)
            await db((await db(Told, waiting)).end)
            stream = Stream.of(opening + await exchange.rest())
        assert stream.types[-5:-2] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_FINISHED"]
        assert stream.events[-2:] == await db(log_of, waiting)

    async def test_a_run_that_ends_meanwhile_counts_once(
        self, cast: Cast, bell: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        live = await db(Told, await db(start, cast.alice, threadId="t"))
        await db(live.say, *text("a1", "once"))
        looked: list[Fold] = []
        real = history.current

        def current(thread: Any) -> Fold:
            if not looked:
                live.end()
            looked.append(real(thread))
            return looked[-1]

        monkeypatch.setattr(history, "current", current)
        stream = Stream.of(await ask("POST", CONNECT, cast.vera.headers, json=body()))
        assert len(looked) == 2
        assert stream.types == [*SNAPSHOTS, "RUN_FINISHED"]
        assert stream.contents() == [("a1", "once")]

    async def test_any_moment_is_a_clean_cut(self, cast: Cast, bell: None) -> None:
        """Snapshot and tail together are the whole message, wherever the reader came in."""
        run = await db(start, cast.alice, threadId="t")
        live = await db(Told, run)
        await db(live.say, *text("a2"))
        words = ""
        for number in range(12):
            word = f"{number} "
            delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a2", "delta": word}
            async with Exchange("POST", CONNECT, cast.vera.headers, json=body()) as exchange:
                await db(live.say, delta)
                stream = Stream.of(await exchange.until(word.encode()))
            deltas = [event["delta"] for event in stream.events if "delta" in event]
            words += word
            assert stream.contents()[0][1] + "".join(deltas) == words
        await db(live.end)
