"""How a run ends."""

from typing import Any

import pytest

from agui_host.protocol.fold.open_parts import OpenParts
from agui_host.protocol.intake.endings import closings, finished, subagent_ending, subagent_error
from agui_host.protocol.questions.rules import Asked

END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
NO_RULES = Asked((), "r")
CALL = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}


def parts_of(*calls: dict[str, Any]) -> OpenParts:
    parts = OpenParts()
    for call in calls:
        parts.start(call)
    return parts


@pytest.mark.parametrize("outcome", [{}, {"outcome": {"type": "success"}}])
def test_a_success_lists_the_calls_that_wait(outcome: dict[str, Any]) -> None:
    assert finished({**END, **outcome}, parts_of(), NO_RULES) == {**END, **outcome}
    ended = finished({**END, **outcome}, parts_of(CALL), NO_RULES)
    assert ended["outcome"] == {"type": "success", "pendingToolCallIds": ["c"]}


def test_no_other_outcome_lists_them() -> None:
    cancelled = {**END, "outcome": {"type": "cancelled"}}
    assert finished(cancelled, parts_of(CALL), NO_RULES) == cancelled


def test_a_step_is_failed_only_if_it_was_cut_short() -> None:
    parts = OpenParts()
    parts.step_started({"type": "STEP_STARTED", "stepName": "look"})
    step = {"type": "STEP_FINISHED", "stepName": "look"}
    assert closings(parts, subagent_ending(None)) == [step]
    assert closings(parts, subagent_error("cut")) == [{**step, "metadata": {"status": "failed"}}]


def test_a_subagent_is_suspended_while_its_run_asks() -> None:
    assert subagent_ending({"type": "interrupt"})["outcome"] == {"type": "suspended"}
    assert subagent_ending({"type": "success"})["outcome"] == {"type": "success"}
