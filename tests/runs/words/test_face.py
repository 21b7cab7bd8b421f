"""The previews of a run: one line, bounded, without what reverses or breaks a list's row."""

from typing import Any

import pytest

from agui_host.protocol.fold.face import LONGEST, Answered, preview, question_of
from agui_host.protocol.intake.intake import Intake


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  Where is\n\n order\t 7? ", "Where is order 7?"),
        ("a\0b", "a b"),
        ("pay\u202egnp.exe\u2066x", "paygnp.exex"),
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("مرحبا", "مرحبا"),
        ("a\u2028b", "a b"),
        (" " * 1_000_000 + "late", "late"),
        ("\ufeff\u200b", ""),
    ],
)
def test_a_preview_is_one_line_without_controls(text: str, line: str) -> None:
    assert preview(text) == line


def test_a_preview_is_bounded_by_characters_and_cuts_none_in_two() -> None:
    assert preview("\U0001f600" * 1_000_000) == "\U0001f600" * LONGEST
    accent = "e\u0301"
    cut = preview("x" * (LONGEST - 1) + accent * 5)
    assert cut == "x" * (LONGEST - 1)
    family = "\U0001f468\u200d\U0001f469"
    assert preview("x" * (LONGEST - 1) + family) == "x" * (LONGEST - 1)
    assert len(preview("a" + "\u0301" * 5_000)) <= LONGEST


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        ([{"role": "user", "content": "first"}, {"role": "user", "content": "second"}], "second"),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "look at"},
                        {"type": "image", "source": {"value": "x"}},
                        {"type": "text", "text": "this"},
                    ],
                }
            ],
            "look at this",
        ),
        ([{"role": "user", "content": [{"type": "image"}, "odd", None]}], ""),
        ([{"role": "user", "content": "old"}, {"role": "assistant", "content": "done"}], ""),
        ([{"role": "user", "content": "old"}, {"role": "tool", "content": "5"}], "old"),
        (["odd"], ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_question_is_the_text_of_the_newest_user_message(messages: Any, question: str) -> None:
    assert question_of(messages) == question


def text(name: str, *deltas: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant", **more},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": each} for each in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": name},
    ]


def answer_of(*events: dict[str, Any]) -> str:
    """What the intake keeps, and what reading the log again gives: the same."""
    intake = Intake("t", "r")
    for event in events:
        intake.accept(event)
    intake.finish()
    assert intake.tally
    again = Answered()
    again.load(intake.tally.answered.dump())
    assert again.text == intake.tally.answered.text
    return again.text


def test_the_answer_is_the_last_text() -> None:
    assert answer_of(*text("a", "Let me see."), *text("b", "It is ", "on its way.")) == (
        "It is on its way."
    )
    assert answer_of(*text("a", "Done."), *text("b")) == "Done."
    assert answer_of() == ""
    assert answer_of(*text("a", *["0123456789"] * 500)) == "0123456789" * 20


def test_a_snapshot_restates_the_answer() -> None:
    old = [{"id": "u", "role": "user", "content": "hi"}]
    new = [{"id": "a", "role": "assistant", "content": "Hello."}]
    assert answer_of({"type": "MESSAGES_SNAPSHOT", "messages": [*old, *new]}) == "Hello."
    assert answer_of({"type": "MESSAGES_SNAPSHOT", "messages": [*new, *old]}) == ""


def test_a_subagent_speaks_only_if_the_agent_does_not() -> None:
    begun = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "subagentName": "helper"}
    ended = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}
    inner = text("in", "Inner words", subagentRunId="s")
    inner = [{**event, "subagentRunId": "s"} for event in inner]
    answered = Answered()
    for event in [*text("a", "Mine."), begun, *inner, ended]:
        answered.follow(event)
    assert answered.text == "Mine."
    alone = Answered()
    for event in inner:
        alone.follow(event)
    assert alone.text == "Inner words"
