"""What Alpine is asked to do, and how it calls a question."""

from typing import Any

import pytest

from agui_host.dialects.alpine.asking import task_of, what_is_asked


def message(content: Any, role: str = "user") -> dict[str, Any]:
    return {"id": "m", "role": role, "content": content}


@pytest.mark.parametrize(
    ("run_input", "task"),
    [
        ({"forwardedProps": {"alpine": {"task": "fix it"}}, "messages": [message("no")]}, "fix it"),
        ({"forwardedProps": {"alpine": {"task": ""}}, "messages": [message("last")]}, "last"),
        ({"forwardedProps": "?", "messages": [message("one"), message("two")]}, "two"),
        ({"messages": [message("mine"), message("theirs", "assistant")]}, "mine"),
        (
            {"messages": [message([{"type": "text", "text": "a"}, {"type": "image"}])]},
            "a",
        ),
        ({}, ""),
    ],
)
def test_the_task_is_what_was_asked_last(run_input: dict[str, Any], task: str) -> None:
    assert task_of(run_input) == (task, False, "")


def test_plan_mode_and_folder() -> None:
    request = {"task": "t", "planMode": True, "worktreeDir": "/w"}
    assert task_of({"forwardedProps": {"alpine": request}}) == ("t", True, "/w")
    odd = {"task": "t", "planMode": "yes", "worktreeDir": 1}
    assert task_of({"forwardedProps": {"alpine": odd}}) == ("t", False, "")


@pytest.mark.parametrize(
    ("reason", "more", "event"),
    [
        ("plan:changed", {}, "plan_modification_request"),
        ("Review", {}, "feedback_request"),
        ("needs_approval", {}, "approval_request"),
        ("tool_permission", {}, "approval_request"),
        ("which one", {}, "input_request"),
        ("which one", {"toolCallId": "c"}, "approval_request"),
    ],
)
def test_the_reason_names_the_event(reason: str, more: dict[str, Any], event: str) -> None:
    name, members = what_is_asked({"id": "i", "reason": reason, "message": None, **more})
    assert name == event
    assert members == {"requestId": "i", "reason": reason, **more}
