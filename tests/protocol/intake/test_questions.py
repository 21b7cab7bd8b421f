"""A question of LangGraph says in its message what it asks, wherever its author wrote that."""

from typing import Any

import pytest

from agui_host.protocol.intake.intake import Intake

REQUESTS = [
    {"name": "mail", "args": {}, "description": "Send the mail?"},
    {"name": "pay", "description": "Pay 5 €?"},
]


def ended(question: dict[str, Any]) -> dict[str, Any]:
    intake = Intake("t", "r")
    outcome = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", **question}]}
    intake.accept({"type": "RUN_FINISHED", "outcome": outcome})
    assert intake.terminal is not None
    (interrupt,) = intake.terminal["outcome"]["interrupts"]
    return dict(interrupt)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"question": "Shall I?"}, "Shall I?"),
        ({"question": {"no": "text"}, "description": "Shall I?", "draft": "…"}, "Shall I?"),
        ("Shall I?", "Shall I?"),
        ({"action_requests": REQUESTS, "review_configs": []}, "Send the mail?\n\nPay 5 €?"),
        (REQUESTS, "Send the mail?\n\nPay 5 €?"),
        ({"prompt": "long" * 1_000}, "long" * 500),
        ({"question": "half \ud800"}, "half \ufffd"),
    ],
)
def test_the_question_reaches_the_message(raw: Any, message: str) -> None:
    metadata = {"langgraph": {"raw": raw}}
    interrupt = ended({"metadata": metadata})
    assert interrupt["message"] == message


@pytest.mark.parametrize("raw", [None, 5, {}, {"question": ""}, {"action_requests": 3}, [[["a"]]]])
def test_what_says_nothing_stays_without_a_message(raw: Any) -> None:
    assert "message" not in ended({"metadata": {"langgraph": {"raw": raw}}})


def test_a_message_of_its_own_wins() -> None:
    metadata = {"langgraph": {"raw": {"question": "other"}}}
    assert ended({"message": "mine", "metadata": metadata})["message"] == "mine"
    assert "message" not in ended({"metadata": {"langgraph": "text"}})
