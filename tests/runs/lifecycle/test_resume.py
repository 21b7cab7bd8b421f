"""Answers: all at once or none, at most once, and once more where nobody acted on them."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.intake.response_schema import ResponseSchema
from agui_host.teams.actors import Actor
from runs.lifecycle import interrupts, lifecycle
from runs.lifecycle import resume as answers
from runs.lifecycle.answers import answer
from runs.models import Interrupt, InterruptStatus, Run
from tests.cast import Cast, fresh, start
from tests.runs.asking import (
    APPROVAL,
    asked_again,
    asking,
    end,
    finish,
    interrupted,
    moment,
    no,
    question,
    resume,
    resume_of,
    standing,
    yes,
)
from tests.together import together

pytestmark = pytest.mark.django_db


def only() -> Interrupt:
    return Interrupt.objects.get()


class TestAnswering:
    def test_a_resume_answers(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        run = resume(cast.bob, yes("i", {"a": 1}))
        row = only()
        assert (row.status, row.answering_run) == (InterruptStatus.ANSWERED, run)
        assert json.loads(row.answer or "") == yes("i", {"a": 1})
        assert row.answered_by == run.started_by
        assert row.answered_at is not None
        assert resume_of(run) == [yes("i", {"a": 1})]

    def test_giving_up_is_an_answer(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        run = resume(cast.alice, no("i"))
        assert standing() == {"i": "cancelled"}
        assert resume_of(run) == [no("i")]

    def test_all_questions_or_none(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b", "c")
        before = Run.objects.count()
        with pytest.raises(answers.InterruptUncovered) as refused:
            resume(cast.alice, yes("b"))
        assert refused.value.details == {"missing": ["a", "c"]}
        assert set(standing().values()) == {"open"}
        assert Run.objects.count() == before
        resume(cast.alice, yes("b"), no("a"), yes("c"))
        assert standing() == {"a": "cancelled", "b": "answered", "c": "answered"}

    def test_two_questions_of_one_id_are_answered_each(self, cast: Cast) -> None:
        interrupted(cast.alice, question("q"), question("q"))
        assert standing() == {"q": "open", "q~2": "open"}
        run = resume(cast.alice, yes("q", 1), yes("q~2", 2))
        assert set(standing().values()) == {"answered"}
        assert resume_of(run) == [yes("q", 1), yes("q", 2)], "as the agent asked"

    def test_an_id_in_the_agents_own_mark_is_text(self, cast: Cast) -> None:
        interrupted(cast.alice, question("q", metadata={"agui-host": {"askedAs": ["x"]}}))
        assert resume_of(resume(cast.alice, yes("q"))) == [yes("q")]

    def test_strangers_names_cover_nothing(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        with pytest.raises(answers.InterruptUncovered):
            resume(cast.alice, yes("other"))

    def test_unknown_names_are_left_out(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        assert resume_of(resume(cast.alice, yes("other"), yes("i"))) == [yes("i")]

    def test_a_resume_of_nothing_is_a_plain_run(self, cast: Cast) -> None:
        run = resume(cast.alice, yes("never-asked"))
        assert resume_of(run) is None
        claimed = lifecycle.claim(run.pk)
        assert claimed
        assert claimed.questions == []

    def test_one_question_answered_twice_in_a_request(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        with pytest.raises(answers.AnswerInvalid):
            resume(cast.alice, yes("i", 1), yes("i", 2))
        assert resume_of(resume(cast.alice, yes("i", 1), yes("i", 1))) == [yes("i", 1)]

    def test_other_teams_questions_do_not_exist(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        run = resume(cast.charlie, yes("i"))
        assert resume_of(run) is None
        assert standing() == {"i": "open"}

    def test_a_busy_thread_takes_no_answer(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        start(cast.alice, threadId="t")
        with pytest.raises(lifecycle.ThreadBusy):
            resume(cast.alice, yes("i"))
        assert standing() == {"i": "open"}

    def test_the_next_question_may_have_the_same_name(self, cast: Cast) -> None:
        asking(cast.alice, "i")
        run = resume(cast.alice, yes("i", 1))
        end(run, lambda intake: intake.finish(
            {"type": "interrupt", "interrupts": [question("i")]}))  # fmt: skip
        assert list(Interrupt.objects.order_by("pk").values_list("status", flat=True)) == [
            "answered",
            "open",
        ]
        assert resume_of(resume(cast.alice, yes("i", 2))) == [yes("i", 2)]


class TestTheFormOfAnAnswer:
    def test_one_that_fits(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        resume(cast.alice, yes("i", {"approved": True}))

    @pytest.mark.parametrize("payload", [None, {}, {"approved": "yes"}, [], True])
    def test_one_that_does_not(self, cast: Cast, payload: Any) -> None:
        interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        with pytest.raises(answers.AnswerInvalid) as refused:
            resume(cast.alice, yes("i", payload))
        assert refused.value.status == 422
        assert refused.value.details["interrupt_id"] == "i"
        assert refused.value.details["errors"][0].keys() == {"path", "message"}
        assert standing() == {"i": "open"}

    def test_giving_up_has_no_form(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        resume(cast.alice, no("i"))

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "nonsense"},
            {"$schema": ["x"]},
            {"$ref": "#"},
            {"$ref": "#/nowhere"},
            {"$ref": "http://127.0.0.1:9/schema.json"},
            {"pattern": "("},
        ],
        ids=str,
    )
    def test_a_schema_that_cannot_be_used_is_ignored(
        self, cast: Cast, schema: dict[str, Any]
    ) -> None:
        interrupted(cast.alice, question("i", responseSchema=schema))
        resume(cast.alice, yes("i", "anything"))
        assert standing() == {"i": "answered"}


class TestTheCheck:
    """It may take its time, so nobody waits for it: neither for the thread's lock, nor at all."""

    @pytest.mark.parametrize("how", ["with a run", "alone"])
    def test_holds_no_lock(self, cast: Cast, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        checks: list[bool] = []

        def problems(schema: ResponseSchema, value: Any) -> list[dict[str, str]]:
            checks.append(any("FOR NO KEY UPDATE" in query["sql"] for query in queries))
            return []

        monkeypatch.setattr(ResponseSchema, "problems", problems)
        with CaptureQueriesContext(connection) as queries:
            if how == "alone":
                answer(only(), only().run.agent, yes("i", {}), by=Actor("user:alice"))
            else:
                resume(cast.alice, yes("i", {}))
        assert checks == [False]
        assert any("FOR NO KEY UPDATE" in query["sql"] for query in queries)
        assert standing() == {"i": "answered"}

    def test_a_question_that_came_up_meanwhile_is_not_answered_unchecked(self, cast: Cast) -> None:
        run = interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        with pytest.raises(answers.AskedMeanwhile):
            answers.plan(run.thread, [yes("i", {})], {})


class TestTheSameAnswerAgain:
    def test_gets_the_same_run(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b")
        both = [yes("a", {"x": 1, "y": 2}), no("b")]
        first = resume(cast.alice, *both, runId="r1")
        again = lifecycle.start(
            cast.team,
            cast.echo,
            run_agent_input.parse({"threadId": "t", "runId": "r2", "resume": both[::-1]}),
            started_by="user:bob",
        )
        assert (again.run.pk, again.created) == (first.pk, False)
        end(first)
        assert resume(cast.bob, yes("a", {"y": 2, "x": 1})).pk == first.pk
        assert not Run.objects.filter(run_id="r2").exists()

    def test_also_after_the_thread_went_on(self, cast: Cast) -> None:
        asking(cast.alice, "a")
        first = resume(cast.alice, yes("a"))
        end(first)
        asking(cast.alice, "b")
        assert resume(cast.alice, yes("a")).pk == first.pk
        assert standing() == {"a": "answered", "b": "open"}

    @pytest.mark.parametrize("other", [yes("i", 1), no("i"), yes("i")])
    def test_another_answer_is_too_late(self, cast: Cast, other: dict[str, Any]) -> None:
        asking(cast.alice, "i")
        run = resume(cast.alice, yes("i", True))
        with pytest.raises(answers.InterruptAnswered) as refused:
            resume(cast.bob, other)
        assert refused.value.status == 409
        assert json.loads(only().answer or "") == yes("i", True)
        assert only().answering_run == run


class TestOpenAgain:
    @pytest.mark.parametrize("how", ["failed", "lost", "cancelled before it began"])
    def test_after_a_run_that_brought_nothing_about(self, cast: Cast, how: str) -> None:
        asking(cast.alice, "a", "b")
        both = [yes("a", 1), no("b")]
        first = resume(cast.alice, *both, runId="r1")
        if how == "failed":
            end(first, lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "no"))
        elif how == "lost":
            lifecycle.claim(first.pk)
            lifecycle.end_lost(fresh(first))
        else:
            lifecycle.cancel(first)
        assert standing() == {"a": "open", "b": "open"}
        second = resume(cast.alice, *both, runId="r2")
        assert second.pk != first.pk
        assert resume_of(second) == both

    @pytest.mark.parametrize("how", ["succeeded", "interrupted", "cancelled while it ran"])
    def test_not_after_a_run_that_may_have_acted(self, cast: Cast, how: str) -> None:
        asking(cast.alice, "i")
        run = resume(cast.alice, yes("i"))
        match how:
            case "succeeded":
                end(run)
            case "interrupted":
                again = {"type": "interrupt", "interrupts": [question("next")]}
                end(run, lambda intake: intake.finish(again))
            case _:
                end(run, lambda intake: intake.cancel())
        assert standing()["i"] == "answered"

    def test_a_question_that_expired_is_expired_again(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", expiresAt=moment(-1)))
        end(resume(cast.alice, no("i")), lambda intake: intake.fail(RunErrorCode.TIMEOUT, "late"))
        assert standing() == {"i": "open"}
        interrupts.expire()
        assert standing() == {"i": "expired"}


class TestTheOldRunId:
    """CopilotKit#6999: some clients resume with the runId of the run that asked."""

    def test_is_a_new_attempt(self, cast: Cast) -> None:
        first = asking(cast.alice, "i", runId="r")
        second = resume(cast.alice, yes("i"), runId="r")
        assert (first.attempt, second.attempt) == (1, 2)
        assert (second.run_id, second.thread) == ("r", first.thread)
        assert resume(cast.alice, yes("i"), runId="r").pk == second.pk

    def test_once_more_after_a_failure(self, cast: Cast) -> None:
        asking(cast.alice, "i", runId="r")
        second = resume(cast.alice, yes("i"), runId="r")
        end(second, lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "no"))
        assert resume(cast.alice, yes("i"), runId="r").attempt == 3

    def test_through_several_questions(self, cast: Cast) -> None:
        asking(cast.alice, "a", runId="r")
        again = {"type": "interrupt", "interrupts": [question("b")]}
        end(resume(cast.alice, yes("a"), runId="r"), lambda intake: intake.finish(again))
        assert resume(cast.alice, yes("b"), runId="r").attempt == 3

    def test_after_the_question_was_asked_again(self, cast: Cast) -> None:
        asking(cast.alice, "i", runId="r")
        asked_again(cast.alice, runId="s")
        assert resume(cast.alice, yes("i"), runId="r").attempt == 2

    def test_is_taken_without_an_answer(self, cast: Cast) -> None:
        first = asking(cast.alice, "i", runId="r")
        with pytest.raises(lifecycle.RunExists):
            start(cast.alice, threadId="t", runId="r")
        with pytest.raises(answers.InterruptUncovered):
            resume(cast.alice, yes("unknown"), runId="r")
        assert list(Run.objects.all()) == [first]

    def test_of_any_other_run(self, cast: Cast) -> None:
        asking(cast.alice, "a", runId="r")
        end(resume(cast.alice, yes("a"), runId="s"))
        asking(cast.alice, "b", runId="q")
        assert resume(cast.alice, yes("b"), runId="s").attempt == 2
        assert standing()["b"] == "answered"


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_a_question_that_expires_between_the_look_and_the_update(self, cast: Cast) -> None:
        run = asking(cast.alice, "i")
        plan = answers.plan(run.thread, [yes("i")], {})
        Interrupt.objects.update(status="expired")
        with pytest.raises(answers.InterruptExpired):
            plan.record(run)
        answers.plan(run.thread, [no("i")], {}).record(run)
        assert standing() == {"i": "cancelled"}

    def test_of_two_answers_one_wins(self, cast: Cast) -> None:
        for number in range(15):
            asking(cast.alice, "a", "b", thread=str(number))
            results = together(
                *(
                    partial(resume, who, yes("a", payload), no("b"), thread=str(number))
                    for who, payload in ((cast.alice, 1), (cast.bob, 2))
                )
            )
            kinds = sorted(type(result).__name__ for result in results)
            assert kinds == ["InterruptAnswered", "Run"]
            (won,) = [result for result in results if isinstance(result, Run)]
            assert {row.answering_run_id for row in Interrupt.objects.filter(
                thread__thread_id=str(number))} == {won.pk}  # fmt: skip

    def test_the_same_answer_twice_makes_one_run(self, cast: Cast) -> None:
        for number in range(15):
            asking(cast.alice, "i", thread=str(number))
            send = partial(resume, cast.alice, yes("i", 1), thread=str(number))
            results = together(send, send, send)
            assert all(isinstance(result, Run) for result in results), results
            assert len({result.pk for result in results}) == 1
        assert Run.objects.count() == 30

    def test_of_answer_and_expiry_one_wins(self, cast: Cast) -> None:
        """The deadline passes between the look at the question and the answer's update."""
        for number in range(15):
            asking(cast.alice, "i", thread=str(number))
            later = timezone.now() + timedelta(milliseconds=5)
            Interrupt.objects.filter(status="open").update(expires_at=later)
            result, _ = together(
                partial(resume, cast.alice, yes("i"), thread=str(number)), interrupts.expire
            )
            interrupts.expire()
            row = Interrupt.objects.get(thread__thread_id=str(number))
            if isinstance(result, Run):
                assert (row.status, row.answering_run) == ("answered", result)
            elif isinstance(result, answers.InterruptExpired):
                assert (row.answering_run, row.answer) == (None, None)
            else:
                raise AssertionError(result)

    def test_of_the_end_of_a_run_and_a_new_answer(self, cast: Cast) -> None:
        """The failing run gives the question back; the same answer gets it, or a new run."""
        for number in range(10):
            asking(cast.alice, "i", thread=str(number))
            first = resume(cast.alice, yes("i"), thread=str(number))
            claimed = lifecycle.claim(first.pk)
            assert claimed
            send = partial(resume, cast.alice, yes("i"), thread=str(number))
            ended, again = together(partial(fail_at_once, claimed), send)
            assert ended is None
            assert isinstance(again, Run), again
            row = Interrupt.objects.get(thread__thread_id=str(number))
            if again.pk == first.pk:
                assert (row.status, row.answering_run) == ("open", None)
            else:
                assert (row.status, row.answering_run) == ("answered", again)


def fail_at_once(claimed: lifecycle.Claimed) -> None:
    """As the writer does: the terminal event and what it means in one transaction."""
    with transaction.atomic():
        finish(claimed, lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "no"))
