"""Turns, and so the tasks of A2A and MCP: which runs continue the one that asked."""

import pytest

from agui_host.dialects import tasks
from agui_host.dialects.a2a import verbs as a2a
from agui_host.dialects.a2a.request import read
from agui_host.protocol.errors import RunErrorCode
from runs.lifecycle import lifecycle, turns
from runs.models import Run
from tests.cast import Cast, start
from tests.runs.asking import (
    asked_again,
    asking,
    end,
    interrupted,
    moment,
    no,
    question,
    resume,
    yes,
)

pytestmark = pytest.mark.django_db


def questions(task: Run) -> list[str]:
    """The ids of the questions that a task waits for."""
    return [each["id"] for each in tasks.questions(turns.starting(task)[-1])]


def answered(cast: Cast, task: Run) -> Run:
    """The run that begins when A2A's client answers a task."""
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Yes."}]}
    request = read({"message": {**message, "taskId": str(task.pk)}})
    return a2a.begin(cast.alice.principal, "echo", request, None)[-1]


def test_runs_queued_between_a_question_and_its_answer(cast: Cast) -> None:
    """Each is a task of its own; the one that asked takes the answer, and has the run with it."""
    first = asking(cast.alice, "i")
    idle = start(cast.alice, threadId="t")
    lifecycle.cancel(idle, cast.alice.principal)
    second = asked_again(cast.alice)
    assert (questions(first), questions(idle), questions(second)) == (["i"], [], ["i"])
    last = answered(cast, first)
    end(last)
    behind = start(cast.alice, threadId="t")
    end(behind)
    assert turns.starting(first) == [first, last]
    assert turns.starting(second) == [second, last]
    assert turns.starting(idle) == [idle]
    assert (questions(first), turns.starting(behind)) == ([], [behind])


def test_an_answer_whose_run_failed_belongs_to_the_task(cast: Cast) -> None:
    first = asking(cast.alice, "i")
    asked_again(cast.alice)
    failed = answered(cast, first)
    end(failed, lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "It broke."))
    last = resume(cast.alice, yes("i"))
    assert turns.starting(first) == [first, failed, last]


def test_questions_that_the_next_run_asks(cast: Cast) -> None:
    first = asking(cast.alice, "i")
    asked_again(cast.alice)
    end(answered(cast, first), lambda intake: intake.finish(
        {"type": "interrupt", "interrupts": [question("j")]}))  # fmt: skip
    assert questions(first) == ["j"]
    last = answered(cast, first)
    assert turns.starting(first)[-1] == last


def test_behind_expired_questions_any_run_acts(cast: Cast) -> None:
    first = interrupted(cast.alice, question("i", expiresAt=moment(-1)))
    second = asking(cast.alice, "j")
    last = resume(cast.alice, no("j"))
    assert turns.starting(first) == [first]
    assert turns.starting(second) == [second, last]
