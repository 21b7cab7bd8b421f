"""What clients from before AG-UI 1.0 answer with, as answers to the questions that are open."""

import time
from typing import Any

import pytest

from agui_host.protocol.input import legacy_answer


def body(command: Any, **more: Any) -> dict[str, Any]:
    return {"forwardedProps": {"command": command}, **more}


def entry(name: str, payload: Any) -> dict[str, Any]:
    return {"interruptId": name, "status": "resolved", "payload": payload}


@pytest.mark.parametrize("value", ["yes", "", False, 0, [], {}, {"approved": True}])
def test_any_value_is_an_answer(value: Any) -> None:
    assert legacy_answer.value_of(body({"resume": value})) == value
    assert legacy_answer.is_answering(body({"resume": value}))


@pytest.mark.parametrize(
    "none",
    [{}, {"forwardedProps": None}, {"forwardedProps": "x"}, body(None), body("resume"), body({}),
     body({"resume": None}), body({"update": 1}), {"resume": []}],
)  # fmt: skip
def test_what_is_none(none: dict[str, Any]) -> None:
    assert legacy_answer.value_of(none) is None
    assert not legacy_answer.is_answering(none)


def test_a_resume_is_an_answer() -> None:
    assert legacy_answer.is_answering({"resume": [entry("q", 1)]})


FOR_ONE = {"approved": False}
CASES: dict[str, tuple[Any, list[str], list[dict[str, Any]]]] = {
    "no question": ("yes", [], []),
    "one question": ("yes", ["q"], [entry("q", "yes")]),
    "an object": (FOR_ONE, ["q"], [entry("q", FOR_ONE)]),
    "the same for several": ("yes", ["q", "r"], [entry("q", "yes"), entry("r", "yes")]),
    "by their ids": ({"r": 2, "q": 1}, ["q", "r"], [entry("q", 1), entry("r", 2)]),
    "some of their ids": ({"q": 1}, ["q", "r"], [entry("q", {"q": 1}), entry("r", {"q": 1})]),
    "a list": ([1], ["q"], [entry("q", [1])]),
    "entries": (
        [entry("q", 1), {"interruptId": "r", "status": "cancelled"}], ["q", "r"],
        [entry("q", 1), {"interruptId": "r", "status": "cancelled"}],
    ),
    "an entry without a status": ([{"interruptId": "q", "payload": 1}], ["q"], [entry("q", 1)]),
    "an entry whose id is no text": (
        [{"interruptId": ["q"]}], ["q"], [entry("q", [{"interruptId": ["q"]}])],
    ),
    "entries of other questions": (
        [{"interruptId": "x", "payload": 1}], ["q"],
        [entry("q", [{"interruptId": "x", "payload": 1}])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_as_answers_to_the_open_questions(case: str) -> None:
    value, names, expected = CASES[case]
    assert legacy_answer.entries(value, names) == expected


def test_thousands_of_entries_cost_as_much_as_they_are() -> None:
    names = [f"question-{number:05}" for number in range(20_000)]
    answers = [entry(name, None) for name in names]
    began = time.process_time()
    assert legacy_answer.entries(answers, names) == answers
    assert time.process_time() - began < 2  # when each was looked for among all: much longer


def test_which_event_it_answers() -> None:
    text, other = {"value": '{"question": "Pay?"}'}, {"value": {"question": "Send?"}}
    for event in ({"question": "Pay?"}, {"question": "Send?"}, '{"question": "Pay?"}', None):
        answer = body({"resume": "yes", "interruptEvent": event})
        assert legacy_answer.answers_one_of(answer, [text, other])
        assert not legacy_answer.answers_one_of(answer, [])
    assert not legacy_answer.answers_one_of(
        body({"resume": "yes", "interruptEvent": {"question": "Delete?"}}), [text, other]
    )


def test_the_application_s_own_values_stay() -> None:
    assert legacy_answer.without({"theme": "dark", "command": {"resume": 1}}) == {"theme": "dark"}
    assert legacy_answer.without("x") == "x"
