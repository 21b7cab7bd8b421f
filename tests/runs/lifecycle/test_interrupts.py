"""Questions: asked at the end of a run, asked again where nobody answered, expired in time."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from runs.lifecycle import interrupts, lifecycle
from runs.lifecycle import resume as answers
from runs.models import Interrupt, InterruptStatus, Status
from tests.cast import Cast, start
from tests.runs.asking import (
    APPROVAL,
    asked_again,
    asking,
    end,
    interrupted,
    moment,
    no,
    question,
    repeat,
    resume,
    resume_of,
    standing,
    yes,
)

pytestmark = pytest.mark.django_db


def only() -> Interrupt:
    return Interrupt.objects.get()


class TestAsking:
    def test_everything_is_kept(self, cast: Cast) -> None:
        interrupt = question(
            "i",
            message="Really?",
            toolCallId="c",
            responseSchema=APPROVAL,
            expiresAt="2099-01-02T03:04:05Z",
            metadata={"x": [1, None]},
        )
        run = interrupted(cast.alice, interrupt)
        row = only()
        assert (row.team, row.thread, row.run) == (cast.team, run.thread, run)
        assert (row.interrupt_id, row.reason, row.message) == ("i", "confirm", "Really?")
        assert (row.tool_call_id, row.status) == ("c", InterruptStatus.OPEN)
        assert row.expires_at == datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)
        assert json.loads(row.response_schema or "") == APPROVAL
        assert json.loads(row.question) == interrupt

    @pytest.mark.parametrize(
        ("text", "expiry"),
        [
            ("2099-01-02T03:04:05+02:00", datetime(2099, 1, 2, 1, 4, 5, tzinfo=UTC)),
            ("2099-01-02T03:04:05", datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)),
            ("2099-01-02", datetime(2099, 1, 2, tzinfo=UTC)),
            ("tomorrow", None),
            ("", None),
            ("0001-01-01T00:00:00+14:00", None),
        ],
    )
    def test_when_it_expires(self, cast: Cast, text: str, expiry: datetime | None) -> None:
        interrupted(cast.alice, question("i", expiresAt=text))
        assert only().expires_at == expiry

    def test_odd_text(self, cast: Cast) -> None:
        interrupted(cast.alice, question("nul\x00", message="x\x00", toolCallId="long" * 3_000))
        assert only().interrupt_id == "nul\ufffd"
        assert json.loads(only().question)["id"] == "nul\x00"

    def test_other_ends_ask_nothing(self, cast: Cast) -> None:
        end(start(cast.alice, threadId="t"))
        end(start(cast.alice, threadId="t"), lambda intake: intake.cancel())
        assert not Interrupt.objects.exists()


class TestExpiry:
    def test_takes_only_cancelled(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", expiresAt=moment(-1)))
        with pytest.raises(answers.InterruptExpired):
            resume(cast.alice, yes("i"))
        assert resume_of(resume(cast.alice, no("i"))) == [no("i")]
        assert standing() == {"i": "cancelled"}

    def test_the_agent_hears_of_it_with_the_other_answers(self, cast: Cast) -> None:
        interrupted(cast.alice, question("late", expiresAt=moment(-1)), question("i"))
        run = resume(cast.alice, yes("i"))
        assert resume_of(run) == [yes("i"), no("late")]
        assert standing() == {"late": "expired", "i": "answered"}
        assert resume(cast.alice, no("late")).pk == run.pk

    def test_the_sweep(self, cast: Cast) -> None:
        names = {"past": -1.0, "future": 3_600.0}
        rows = [question(name, expiresAt=moment(when)) for name, when in names.items()]
        interrupted(cast.alice, *rows, question("never"))
        assert interrupts.expire() == 1
        assert standing() == {"past": "expired", "future": "open", "never": "open"}
        assert interrupts.expire() == 0

    def test_a_plain_message_passes(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i", expiresAt=moment(-1)))
        claimed = lifecycle.claim(start(cast.alice, threadId="t").pk)
        assert claimed
        assert claimed.questions == []
        assert standing() == {"i": "expired"}


class TestAskingAgain:
    """A run that brings no answer ends with the thread's open questions."""

    def test_the_questions_become_the_new_runs(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b")
        rows = set(Interrupt.objects.values_list("pk", flat=True))
        run = asked_again(cast.alice)
        assert run.status == Status.INTERRUPTED
        assert set(run.interrupts.values_list("pk", flat=True)) == rows
        assert standing() == {"a": "open", "b": "open"}
        assert resume_of(resume(cast.alice, yes("a"), yes("b"))) == [yes("a"), yes("b")]

    def test_expired_ones_are_not_asked_again_but_go_along(self, cast: Cast) -> None:
        interrupted(cast.alice, question("late", expiresAt=moment(-1)), question("i"))
        claimed = lifecycle.claim(start(cast.alice, threadId="t").pk)
        assert claimed
        assert claimed.questions == [question("i")]
        repeat(claimed)
        assert {row.run_id for row in Interrupt.objects.all()} == {claimed.run.pk}
        resume(cast.alice, no("late"), yes("i"))

    def test_a_message_that_waited_behind_the_question(self, cast: Cast) -> None:
        asker = start(cast.alice, threadId="t")
        waiting = start(cast.alice, threadId="t", onBusy="enqueue")
        end(asker, lambda intake: intake.finish(
            {"type": "interrupt", "interrupts": [question("i")]}))  # fmt: skip
        claimed = lifecycle.claim(waiting.pk)
        assert claimed
        assert claimed.questions == [question("i")]

    def test_a_message_that_waits_before_the_answer(self, cast: Cast) -> None:
        """It is its turn first, and nobody has acted on the answer yet."""
        asking(cast.alice, "i")
        early = start(cast.alice, threadId="t")
        answer = resume(cast.alice, yes("i"), onBusy="enqueue")
        claimed = lifecycle.claim(early.pk)
        assert claimed
        assert claimed.questions == [question("i")]
        repeat(claimed)
        assert (only().status, only().answering_run) == ("answered", answer)
        claimed = lifecycle.claim(answer.pk)
        assert claimed
        assert claimed.questions == []


class TestDatabaseConstraints:
    @pytest.mark.parametrize(
        ("values", "constraint"),
        [
            ({"status": "maybe"}, "interrupt_status_known|interrupt_answer"),
            ({"status": "answered"}, "interrupt_answer_exactly_when_answered"),
            ({"answer": "{}"}, "interrupt_answer_exactly_when_answered"),
            ({"answered_at": timezone.now()}, "interrupt_answer_exactly_when_answered"),
            (
                {"status": "cancelled", "answer": "{}", "answered_at": timezone.now()},
                "interrupt_answer_exactly_when_answered",
            ),
        ],
    )
    def test_half_answers(self, cast: Cast, values: dict[str, Any], constraint: str) -> None:
        asking(cast.alice, "i")
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            Interrupt.objects.update(**values)

    def test_an_open_question_was_told_to_nobody(self, cast: Cast) -> None:
        run = asking(cast.alice, "i")
        with pytest.raises(IntegrityError, match="told_to_nobody"), transaction.atomic():
            Interrupt.objects.update(answering_run=run)

    def test_a_run_asks_each_question_once(self, cast: Cast) -> None:
        asking(cast.alice, "a", "b")
        with pytest.raises(IntegrityError, match="once_per_run"), transaction.atomic():
            Interrupt.objects.update(interrupt_id="a")
