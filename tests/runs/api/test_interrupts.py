"""The inbox over HTTP, and what an executor does with a thread that waits for an answer."""

import asyncio
import json
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.access import access
from runs.api.interrupts import InterruptSerializer
from runs.lifecycle import interrupts, lifecycle
from runs.models import Interrupt, Run, Status
from runs.worker.executor import Stop, execute
from runs.worker.tasks import expire_interrupts
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, Register, fresh, log_of, perform, start
from tests.runs.asking import (
    APPROVAL,
    asking,
    end,
    interrupted,
    moment,
    no,
    question,
    resume,
    standing,
    yes,
)
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

INBOX = "/api/v1/interrupts"


def get(actor: Actor, path: str = "") -> Answer:
    return ask_now("GET", INBOX + path, actor.headers)


def listed(actor: Actor, query: str = "") -> list[str]:
    answer = get(actor, query)
    assert answer.status == 200, answer.body
    return [row["interrupt_id"] for row in answer.json["results"]]


def send(actor: Actor, name: str, payload: Any = None, status: str = "resolved") -> Answer:
    """Answer the newest question of that name."""
    key = Interrupt.objects.filter(interrupt_id=name).values_list("pk", flat=True)[0]
    body = {"status": status} | ({} if payload is None else {"payload": payload})
    return ask_now("POST", f"{INBOX}/{key}/answer", actor.headers, json=body)


def answer_by_key(actor: Actor, key: UUID) -> Answer:
    return ask_now("POST", f"{INBOX}/{key}/answer", actor.headers, json={"status": "resolved"})


class TestReading:
    def test_a_question(self, cast: Cast) -> None:
        interrupt = question("i", message="Really?", toolCallId="c", responseSchema=APPROVAL)
        run = interrupted(cast.alice, interrupt | {"metadata": {"a": 1}}, runId="r")
        (key,) = Interrupt.objects.values_list("pk", flat=True)
        detail = get(cast.vera, f"/{key}").json
        assert detail.pop("created_at")
        assert detail == {
            "id": str(key),
            "interrupt_id": "i",
            "run": str(run.pk),
            "run_id": "r",
            "thread_id": "t",
            "agent": "echo",
            "reason": "confirm",
            "message": "Really?",
            "tool_call_id": "c",
            "response_schema": APPROVAL,
            "metadata": {"a": 1},
            "status": "open",
            "expires_at": None,
            "payload": None,
            "answered_by": "",
            "answered_at": None,
            "answering_run": None,
            "claimed_by": "",
            "claimed_at": None,
        }

    def test_newest_first_and_filtered(self, cast: Cast) -> None:
        first = asking(cast.alice, "a", "b", thread="1")
        resume(cast.alice, yes("a"), no("b"), thread="1")
        interrupted(cast.alice, question("c", expiresAt=moment(-1)), thread="2")
        interrupts.expire()
        asking(cast.alice, "d", thread="3")
        asking(cast.charlie, "theirs")
        assert listed(cast.vera) == ["d", "c", "b", "a"]
        assert listed(cast.vera, "?status=open") == ["d"]
        assert listed(cast.vera, "?status=answered&status=expired") == ["c", "a"]
        assert listed(cast.vera, "?thread_id=1") == ["b", "a"]
        assert listed(cast.vera, f"?run={first.pk}") == ["b", "a"]
        assert get(cast.vera, "?status=maybe").status == 422
        assert get(cast.vera, "?run=5").status == 422

    def test_pages(self, cast: Cast) -> None:
        asking(cast.alice, *"abcde")
        ids, query = [], "?limit=2"
        while True:
            page = get(cast.vera, query).json
            ids += [row["interrupt_id"] for row in page["results"]]
            if not page["next"]:
                break
            query = "?" + page["next"].partition("?")[2]
        assert ids == list("edcba")
        assert get(cast.vera, "?cursor=garbage").code == "bad_cursor"

    def test_a_list_costs_the_same_for_many(
        self, cast: Cast, django_assert_num_queries: Any
    ) -> None:
        for number in range(10):
            asking(cast.alice, "i", thread=str(number))
        rows = access.visible_interrupts(cast.alice.principal)
        with django_assert_num_queries(1):
            assert len(InterruptSerializer(rows, many=True).data) == 10


class TestWhoMay:
    def test_a_viewer_reads_and_does_not_answer(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        assert listed(cast.vera) == ["i"]
        answer = send(cast.vera, "i")
        assert (answer.status, answer.code) == (403, "forbidden")
        assert standing() == {"i": "open"}

    def test_another_teams_question_is_not_there(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        (key,) = Interrupt.objects.values_list("pk", flat=True)
        assert listed(cast.charlie) == []
        assert get(cast.charlie, f"/{key}").code == "not_found"
        assert send(cast.charlie, "i").code == "not_found"
        assert standing() == {"i": "open"}

    def test_nobody(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        (key,) = Interrupt.objects.values_list("pk", flat=True)
        for method, path in (("GET", ""), ("GET", f"/{key}"), ("POST", f"/{key}/answer")):
            assert ask_now(method, INBOX + path).status == 401
        assert get(cast.alice, f"/{UUID(int=1)}").status == 404


class TestAnswering:
    def test_the_last_answer_starts_the_run(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b")
        first = send(cast.bob, "a", {"x": 1})
        assert first.status == 200
        assert first.json["run"] is None
        stored = first.json["interrupt"]
        assert (stored["status"], stored["payload"], stored["answering_run"]) == (
            "answered",
            {"x": 1},
            None,
        )
        assert stored["answered_by"] == f"key:{cast.bob.key_prefix}"
        last = send(cast.alice, "b", status="cancelled").json
        run = Run.objects.get(pk=last["run"]["id"])
        assert (run.status, run.agent, run.thread.thread_id) == (Status.QUEUED, cast.echo, "t")
        assert json.loads(run.input)["resume"] == [yes("a", {"x": 1}), no("b")]
        assert run.stamp is not None
        assert set(Interrupt.objects.values_list("answering_run", flat=True)) == {run.pk}

    def test_the_run_goes_on_as_it_was_asked(self, cast: Cast) -> None:
        """With tools, context and props; not with what concerned that one request."""
        tools = [{"name": "t", "description": "", "parameters": {"type": "object"}}]
        around = {"tools": tools, "context": [{"description": "d", "value": "v"}]}
        props = {"items": [1, 2], "regenerate": True, "edit": "u", "agentId": "echo"}
        asking(cast.alice, "a", **around, forwardedProps=props)
        run = Run.objects.get(pk=send(cast.bob, "a", True).json["run"]["id"])
        body = json.loads(run.input)
        assert {name: body[name] for name in around} == around
        assert body["forwardedProps"] == {"items": [1, 2]}
        assert body["messages"] == []

    def test_the_same_again_and_another(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b")
        send(cast.bob, "a", 1)
        assert send(cast.alice, "a", 1).json["run"] is None
        assert send(cast.alice, "a", 2).code == "interrupt_answered"
        run = send(cast.alice, "b", 1).json["run"]
        assert send(cast.bob, "a", 1).json["run"]["id"] == run["id"]
        assert send(cast.bob, "b", True).code == "interrupt_answered"
        assert Interrupt.objects.get(interrupt_id="a").answered_by.startswith("key:")
        assert Run.objects.count() == 2

    def test_the_form_is_checked(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        refused = send(cast.alice, "i", {"approved": 1})
        assert (refused.status, refused.code) == (422, "interrupt_answer_invalid")
        assert refused.json["error"]["details"]["errors"][0]["path"] == "$.approved"
        assert send(cast.alice, "i", {"approved": True}).status == 200

    @pytest.mark.parametrize(
        "body", [{}, [], "yes", None, {"status": "maybe"}, {"status": "resolved", "metadata": 1}]
    )
    def test_no_answer_at_all(self, cast: Cast, body: Any) -> None:
        asking(cast.alice, "i")
        (key,) = Interrupt.objects.values_list("pk", flat=True)
        answer = ask_now("POST", f"{INBOX}/{key}/answer", cast.alice.headers, json=body)
        assert (answer.status, answer.code) == (422, "invalid")
        assert standing() == {"i": "open"}

    @pytest.mark.parametrize("payload", [None, False, 0, "", [], {}])
    def test_an_empty_payload_is_one(self, cast: Cast, payload: Any) -> None:
        asking(cast.alice, "i")
        (key,) = Interrupt.objects.values_list("pk", flat=True)
        body = {"status": "resolved", "payload": payload}
        answer = ask_now("POST", f"{INBOX}/{key}/answer", cast.alice.headers, json=body)
        run = Run.objects.get(pk=answer.json["run"]["id"])
        assert json.loads(run.input)["resume"] == [{"interruptId": "i", **body}]
        assert json.loads(Interrupt.objects.get().answer)["payload"] == payload

    def test_an_expired_one_is_only_cancelled(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", expiresAt=moment(-1)))
        answer = send(cast.alice, "i")
        assert (answer.status, answer.code) == (409, "interrupt_expired")
        assert send(cast.alice, "i", status="cancelled").json["run"]
        assert standing() == {"i": "cancelled"}

    def test_a_stored_answer_joins_a_resume(self, cast: Cast) -> None:
        """One team mate answers in the inbox, the other where the question was shown."""
        asking(cast.alice, "a", "b")
        send(cast.bob, "a", 1)
        run = resume(cast.alice, yes("b", 2))
        assert json.loads(run.input)["resume"] == [yes("b", 2), yes("a", 1)]
        row = Interrupt.objects.get(interrupt_id="a")
        assert (row.answering_run, row.answered_by) == (run, f"key:{cast.bob.key_prefix}")

    def test_a_busy_thread_only_delays_it(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        early = start(cast.alice, threadId="t")
        run = send(cast.alice, "i").json["run"]
        assert run["status"] == "queued"
        claimed = lifecycle.claim(early.pk)
        assert claimed
        assert claimed.questions == [question("i")]

    def test_a_failed_run_gives_it_back(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b")
        send(cast.alice, "a")
        run = send(cast.alice, "b").json["run"]
        lifecycle.end_lost(fresh(Run.objects.get(pk=run["id"])))
        assert standing() == {"a": "open", "b": "open"}

    def test_an_agent_that_was_switched_off(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        Agent.objects.update(enabled=False)
        assert send(cast.alice, "i").code == "unknown_agent"
        assert standing() == {"i": "open"}

    def test_of_two_last_answers_one_starts_the_run(self, cast: Cast) -> None:
        for number in range(5):
            asking(cast.alice, "a", "b", thread=str(number))
            keys = Interrupt.objects.filter(thread__thread_id=str(number))
            calls = [
                partial(answer_by_key, cast.bob, key) for key in keys.values_list("pk", flat=True)
            ]
            results = [answer.json["run"] for answer in together(*calls)]
            assert sorted(run is None for run in results) == [False, True]
        assert Run.objects.count() == 10


class TestResumeOverHttp:
    def test_no_agent_named_means_the_one_that_asked(self, cast: Cast, register: Register) -> None:
        agent = register("asker", lambda ctx: None)
        first = start(cast.alice, agent, threadId="t")
        end(first, lambda intake: intake.finish(
            {"type": "interrupt", "interrupts": [question("i")]}))  # fmt: skip
        body = {"input": {"threadId": "t", "resume": [yes("i")]}}
        answer = ask_now("POST", "/api/v1/runs", cast.alice.headers, json=body)
        assert (answer.status, answer.json["agent"]) == (202, "asker")

    @pytest.mark.parametrize(
        ("answers", "status", "code"),
        [
            ([yes("a")], 409, "interrupt_uncovered"),
            ([yes("a"), yes("form", 5)], 422, "interrupt_answer_invalid"),
        ],
    )
    @pytest.mark.parametrize("path", ["/agui", "/api/v1/runs"])
    def test_refusals_come_before_a_stream(
        self, cast: Cast, path: str, answers: Any, status: int, code: str
    ) -> None:
        interrupted(cast.alice, question("a"), question("form", responseSchema=APPROVAL))
        body = {"threadId": "t", "resume": answers}
        wrapped = {"input": body} if path.startswith("/api") else body
        answer = ask_now("POST", path, cast.alice.headers, json=wrapped)
        assert (answer.status, answer.code) == (status, code)
        assert Run.objects.count() == 1


class TestTheExecutor:
    async def test_a_plain_message_does_not_reach_the_agent(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        called = []
        agent = await db(register, "careful", lambda ctx: called.append(ctx.run_id))
        interrupt = question("i", responseSchema=APPROVAL, metadata={"x": 1})
        await db(interrupted, cast.alice, interrupt)
        run = await perform(await db(start, cast.alice, agent, threadId="t"), writer)
        opening, ending = await db(log_of, run)
        assert called == []
        assert (run.status, opening["type"]) == (Status.INTERRUPTED, "RUN_STARTED")
        assert ending["outcome"] == {"type": "interrupt", "interrupts": [interrupt]}
        run = await perform(
            await db(resume, cast.alice, yes("i", {"approved": True}), agent=agent), writer
        )
        assert (run.status, called) == (Status.SUCCEEDED, [run.run_id])

    async def test_an_agents_questions_become_rows(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        agent = await db(register, "asker", lambda ctx: ctx.interrupt("confirm", id="i"))
        run = await perform(await db(start, cast.alice, agent, threadId="t"), writer)
        assert run.status == Status.INTERRUPTED
        assert await db(standing) == {"i": "open"}

    async def test_an_agent_that_fails_gets_the_answer_again(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        heard: list[Any] = []

        def agent(ctx: Any) -> None:
            heard.append(ctx.resume)
            if len(heard) == 1:
                raise RuntimeError

        row = await db(register, "fragile", agent)
        await db(asking, cast.alice, "i")
        first = await perform(await db(resume, cast.alice, yes("i", 1), agent=row), writer)
        second = await perform(await db(resume, cast.alice, yes("i", 1), agent=row), writer)
        assert (first.status, second.status) == (Status.FAILED, Status.SUCCEEDED)
        assert heard == [[yes("i", 1)]] * 2
        assert await db(standing) == {"i": "answered"}

    async def test_a_stop_wins_over_asking_again(self, cast: Cast, writer: JournalWriter) -> None:
        await db(asking, cast.alice, "i")
        claimed = await db(lifecycle.claim, (await db(start, cast.alice, threadId="t")).pk)
        assert claimed
        with pytest.raises(asyncio.CancelledError):
            await execute(claimed, writer, lambda: Stop.CANCEL, stopped=True)
        assert (await db(fresh, claimed.run)).status == Status.CANCELLED
        assert await db(standing) == {"i": "open"}


def test_expiry_is_a_periodic_task(cast: Cast) -> None:
    interrupted(cast.alice, question("i", expiresAt=moment(-1)))
    expire_interrupts(timestamp=0)
    assert standing() == {"i": "expired"}
