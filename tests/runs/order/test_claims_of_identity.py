"""A runId that is used again: the same request joins, an answer is a new attempt, others fail."""

import json
from functools import partial
from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.strict_json import dumps
from runs.access.start import StartOutcome, start_from_agui
from runs.lifecycle import lifecycle, resume
from runs.lifecycle.lifecycle import RunExists
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Actor, Cast, fresh, log_of, start
from tests.runs.asking import asking, interrupted, question, resume_of, standing, yes
from tests.runs.conversing import Told, tell, text, user
from tests.runs.starting import nothing_written, refused
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

Wire = dict[str, Any]
ONE = user("one", "u1")
ASKS = {"type": "CUSTOM", "name": "on_interrupt", "value": '{"question": "Pay?"}'}
PAYS = {"question": "Pay?"}


def request(**more: Any) -> Wire:
    return {"threadId": "t", "runId": "r", "messages": [ONE], **more}


def answering(value: Any, event: Any = PAYS, **more: Any) -> Wire:
    command = {"resume": value, "interruptEvent": event}
    return request(forwardedProps={"command": command}, **more)


def post(actor: Actor, body: Wire, cursor: int | None = None, agent: str = "") -> StartOutcome:
    return start_from_agui(
        actor.principal, dumps(body).encode(), agent=agent or None, on_busy=None, key=None,
        cursor=cursor,
    )  # fmt: skip


def play(outcome: StartOutcome, *events: Wire) -> Run:
    """Let the agent of a run that was just started say these events, and end."""
    assert outcome.created
    return Told(outcome.run).say({"type": "CUSTOM", "name": "x", "value": 1}, *events).end()


def props_of(run: Run) -> Any:
    return json.loads(fresh(run).input)["forwardedProps"]


class TestAnOrdinaryRequest:
    @pytest.fixture
    def run(self, cast: Cast) -> Run:
        return play(post(cast.alice, request()), *text("a1", "hello"))

    def test_the_same_joins(self, cast: Cast, run: Run) -> None:
        with nothing_written():
            outcome = post(cast.alice, request())
        assert (outcome.run, outcome.created) == (run, False)

    @pytest.mark.parametrize(
        "more",
        [
            {"messages": []},
            {"messages": [ONE, {"id": "a1", "role": "assistant", "content": "hello"}]},
            {"messages": [ONE, {"id": "a9", "role": "assistant", "content": "half an ans"}]},
            {"state": {"n": 1}, "tools": [{"name": "f"}], "context": {"city": "Basel"}},
        ],
    )  # fmt: skip
    def test_one_that_brings_nothing_new_joins(self, cast: Cast, run: Run, more: Wire) -> None:
        with nothing_written():
            assert not post(cast.alice, request(**more)).created

    @pytest.mark.parametrize(
        "more",
        [
            {"messages": [ONE, user("two", "u2")]},
            {"messages": [user("two", "u2")]},
            {"messages": [user("another text", "u1")]},
            {"messages": [{"role": "user", "content": "one, without an id"}]},
            {"messages": [ONE, {"id": "t", "role": "tool", "toolCallId": "c", "content": ""}]},
            {"forwardedProps": {"n": 2}},
            {"agentId": "other"},
            {"resume": [yes("never asked")]},
        ],
    )  # fmt: skip
    def test_another_one_is_refused(self, cast: Cast, run: Run, register: Any, more: Wire) -> None:
        register("other", lambda ctx: None)
        with nothing_written():
            answer = ask_now("POST", "/agui", cast.alice.headers, json=request(**more))
            details = refused(answer, 409, "run_exists")
        assert details["events_url"] == f"/api/v1/runs/{run.pk}/events"

    def test_with_a_cursor(self, cast: Cast, run: Run) -> None:
        assert post(cast.alice, request(), cursor=2).after == 2
        new = request(messages=[ONE, user("two", "u2")])
        for cursor in (0, 2):
            with nothing_written(), pytest.raises(RunExists):
                post(cast.alice, new, cursor=cursor)

    def test_while_it_runs(self, cast: Cast) -> None:
        playing = Told(post(cast.alice, request()).run)
        result = {"id": "t1", "role": "tool", "toolCallId": "c", "content": "done"}
        playing.say(
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "t1", "content": "done"},
        )
        assert not post(cast.alice, request(messages=[ONE, result])).created
        with pytest.raises(RunExists):
            post(cast.alice, request(messages=[ONE, user("two", "u2")]))

    def test_another_teams_run_is_no_obstacle(self, cast: Cast, run: Run) -> None:
        assert post(cast.charlie, request(messages=[user("two", "u2")])).created

    def test_of_two_at_once_one_begins(self, cast: Cast) -> None:
        for number in range(10):
            bodies = [
                request(threadId=str(number), messages=[user(word, word)]) for word in ("a", "b")
            ]
            results = together(*(partial(post, cast.alice, each) for each in bodies))
            kinds = sorted(type(result).__name__ for result in results)
            assert kinds == ["RunExists", "StartOutcome"]
        assert Run.objects.count() == 10


class TestAnAnswer:
    """``resume``: the rows of the questions decide."""

    def test_is_an_attempt_under_any_run_id_of_the_thread(self, cast: Cast) -> None:
        asking(cast.alice, "a", runId="r")
        again = {"type": "interrupt", "interrupts": [question("b")]}
        second = post(cast.alice, request(runId="s", messages=[], resume=[yes("a")]))
        Told(second.run).end(lambda intake: intake.finish(again))
        third = post(cast.alice, request(messages=[], resume=[yes("b")]))
        assert (third.created, third.run.attempt, third.run.run_id) == (True, 2, "r")
        assert log_of(Told(third.run).end())[0]["runId"] == "r"

    def test_a_reader_with_a_cursor_gets_its_own_attempt(self, cast: Cast) -> None:
        first = post(cast.alice, request())
        asks = {"type": "interrupt", "interrupts": [question("a")]}
        Told(first.run).end(lambda intake: intake.finish(asks))
        answer = request(messages=[], resume=[yes("a")])
        second = post(cast.alice, answer)
        Told(second.run).say(*text("m", "a", "b", "c")).end()
        assert post(cast.alice, request(), cursor=1).run == first.run
        assert post(cast.alice, answer, cursor=4).run == second.run
        assert post(cast.alice, request()).run == second.run


class TestALegacyAnswer:
    """``forwardedProps.command.resume`` while questions are open answers them."""

    @pytest.mark.parametrize("run_id", ["r", "new"])
    def test_answers_the_question(self, cast: Cast, run_id: str) -> None:
        asking(cast.alice, "q", runId="r", messages=[ONE])
        outcome = post(cast.alice, answering("yes", runId=run_id))
        assert outcome.run.attempt == (2 if run_id == "r" else 1)
        assert resume_of(outcome.run) == [yes("q", "yes")]
        assert props_of(outcome.run)["command"]["resume"] == "yes"
        assert standing() == {"q": "answered"}

    def test_answers_several(self, cast: Cast) -> None:
        asking(cast.alice, "p", "q")
        outcome = post(cast.alice, answering({"p": 1, "q": [2]}))
        assert resume_of(outcome.run) == [yes("p", 1), yes("q", [2])]

    def test_goes_to_the_agent_that_asked(self, cast: Cast, register: Any) -> None:
        agent = register("asking", lambda ctx: None)
        run = start(cast.alice, agent, threadId="t")
        Told(run).end(
            lambda intake: intake.finish({"type": "interrupt", "interrupts": [question("q")]})
        )
        assert post(cast.alice, answering("yes")).run.agent == agent

    def test_is_checked_like_any_other(self, cast: Cast) -> None:
        interrupted(cast.alice, question("q", responseSchema={"type": "boolean"}))
        with pytest.raises(resume.AnswerInvalid):
            post(cast.alice, answering("yes"))
        assert post(cast.alice, answering(True)).created

    def test_a_resume_beside_it_wins(self, cast: Cast) -> None:
        asking(cast.alice, "q")
        outcome = post(cast.alice, answering("no", resume=[yes("q", "yes")]))
        assert resume_of(outcome.run) == [yes("q", "yes")]

    @pytest.mark.parametrize("run_id", ["r", "new"])
    def test_the_same_twice_is_one_and_another_one_is_refused(
        self, cast: Cast, run_id: str
    ) -> None:
        asking(cast.alice, "q", runId="r", messages=[ONE])
        first = post(cast.alice, answering("yes", runId=run_id))
        assert post(cast.alice, answering("yes", runId=run_id)).run == first.run
        assert post(cast.alice, answering("yes", runId="third")).run == first.run
        with pytest.raises(resume.InterruptAnswered):
            post(cast.alice, answering("no", runId=run_id))

    def test_after_the_answer_was_used(self, cast: Cast) -> None:
        asking(cast.alice, "q", runId="r", messages=[ONE])
        Told(post(cast.alice, answering("yes", runId="s")).run).end()
        with nothing_written(), pytest.raises(RunExists):
            post(cast.alice, answering("no"))

    def test_of_two_at_once_one_wins(self, cast: Cast) -> None:
        for number in range(10):
            thread = str(number)
            asking(cast.alice, "q", thread=thread, runId="r")
            sends = [
                partial(post, cast.alice, answering(value, threadId=thread))
                for value in ("yes", "no")
            ]
            kinds = sorted(type(result).__name__ for result in together(*sends))
            assert kinds == ["InterruptAnswered", "StartOutcome"]


class TestALegacyAnswerToAnEvent:
    """The agent asked by a CUSTOM event only, and its run ended plainly."""

    @pytest.fixture
    def run(self, cast: Cast) -> Run:
        return play(post(cast.alice, request()), ASKS)

    def test_is_a_new_attempt(self, cast: Cast, run: Run) -> None:
        second = post(cast.alice, answering("yes"))
        assert (second.created, second.run.run_id, second.run.attempt) == (True, "r", 2)
        assert resume_of(second.run) is None
        assert props_of(second.run)["command"]["resume"] == "yes"
        ended = play(second, *text("a1", "paid"))
        assert [log_of(each)[0]["runId"] for each in (run, ended)] == ["r", "r"]
        again = post(cast.alice, answering("yes"))
        assert (again.run, again.created) == (ended, False)

    def test_of_a_question_in_any_other_event(self, cast: Cast) -> None:
        play(post(cast.alice, request()), {"type": "CUSTOM", "name": "ask", "value": 1})
        assert post(cast.alice, answering("yes")).run.attempt == 2

    def test_keeps_what_the_run_said(self, cast: Cast, run: Run) -> None:
        second = play(post(cast.alice, answering("yes")), *text("a2", "paid"))
        prepared = lifecycle.claim(post(cast.alice, request(runId="n", messages=[])).run.pk)
        assert prepared
        assert [each["id"] for each in prepared.prepared.input["messages"]] == ["u1", "a2"]
        assert second.status == "succeeded"

    def test_another_answer_is_refused_while_the_first_runs_and_afterwards(
        self, cast: Cast, run: Run
    ) -> None:
        first = post(cast.alice, answering("yes"))
        with nothing_written(), pytest.raises(RunExists):
            post(cast.alice, answering("no"))
        play(first, *text("a1", "paid"))
        with nothing_written(), pytest.raises(RunExists):
            post(cast.alice, answering("no"))

    def test_the_next_question_is_answered_under_the_same_run_id(
        self, cast: Cast, run: Run
    ) -> None:
        sends = {"question": "Send?"}
        play(post(cast.alice, answering("yes")), {**ASKS, "value": sends})
        with nothing_written(), pytest.raises(RunExists):
            post(cast.alice, answering("no", PAYS))
        third = post(cast.alice, answering("yes", sends))
        assert (third.created, third.run.attempt) == (True, 3)

    def test_once_more_after_a_failure(self, cast: Cast, run: Run) -> None:
        playing = Told(post(cast.alice, answering("yes")).run)
        playing.end(lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "no"))
        assert post(cast.alice, answering("again")).run.attempt == 3

    def test_of_two_at_once_one_begins(self, cast: Cast) -> None:
        for number in range(10):
            thread = str(number)
            tell(cast.alice, ASKS, threadId=thread, runId="r", messages=[ONE])
            sends = [
                partial(post, cast.alice, answering(value, threadId=thread))
                for value in ("yes", "no")
            ]
            kinds = sorted(type(result).__name__ for result in together(*sends))
            assert kinds == ["RunExists", "StartOutcome"]
            assert Run.objects.filter(thread__thread_id=thread).count() == 2


def test_one_long_answer_is_not_taken_for_many_questions(cast: Cast, settings: Any) -> None:
    """It would become part of the answer to each."""
    asking(cast.alice, "p", "q")
    settings.AGUI_MAX_BODY_BYTES = 1_000
    with nothing_written(), pytest.raises(resume.AnswerInvalid):
        post(cast.alice, answering("x" * 600, runId="s"))
    each = {"p": "x" * 400, "q": "x" * 400}
    assert [entry["payload"] for entry in json.loads(
        post(cast.alice, answering(each, runId="s")).run.input
    )["resume"]] == list(each.values())  # fmt: skip
