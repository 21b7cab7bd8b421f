"""Decisions in the payloads of the frameworks that asked."""

from typing import Any

import pytest

from agui_host.protocol.intake.response_schema import ResponseSchema
from agui_host.protocol.questions import table
from agui_host.protocol.questions.decision import Undecidable
from tests.protocol.questions.shapes import (
    AG2,
    BATCH,
    HUMAN,
    ONE,
    PER_CALL,
    PYDANTIC,
    Wire,
    langchain,
)

YES: Wire = {"approved": True}
NO: Wire = {"approved": False, "reason": "too much"}
EDIT: Wire = {"approved": True, "arguments": {"amount": 4}}
EDITED = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 4}}}
PAY = {"action": "pay", "args": {"amount": 4}}
REJECTED = {"type": "reject", "message": "too much"}


def schema(**more: Any) -> Wire:
    return {"id": "q", "reason": "confirm", "responseSchema": more}


def members(*required: str, **properties: Any) -> Wire:
    return schema(type="object", properties=properties, required=list(required))


BOOLEAN, TEXT = {"type": "boolean"}, {"type": "string"}
BARE: Wire = {"id": "q", "reason": "confirm"}
WHY = {"enum": ["cost", "time"]}
CHOICE = {"type": "object", "enum": [{"amount": 1}, {"amount": 2}]}


def payload(question: Wire, value: Any, **more: Any) -> Any:
    entry = {"interruptId": "q", "status": "resolved", "payload": value, **more}
    return table.fitted(question, entry)["payload"]


@pytest.mark.parametrize(
    ("question", "decision", "expected"),
    [
        (langchain(ONE), YES, {"decisions": [{"type": "approve"}]}),
        (langchain(ONE), NO, {"decisions": [REJECTED]}),
        (langchain(ONE), EDIT, {"decisions": [EDITED]}),
        (langchain(ONE), True, {"decisions": [{"type": "approve"}]}),
        (langchain(ONE), "Reject", {"decisions": [{"type": "reject"}]}),
        (langchain(BATCH), YES, {"decisions": [{"type": "approve"}] * 2}),
        (langchain(BATCH), NO, {"decisions": [REJECTED] * 2}),
        (langchain(PER_CALL), YES, {"type": "approve"}),
        (langchain(PER_CALL), NO, REJECTED),
        (langchain(PER_CALL), EDIT, EDITED),
        (langchain([HUMAN]), YES, [{"type": "accept", "args": None}]),
        (langchain(HUMAN), True, [{"type": "accept", "args": None}]),
        (langchain([HUMAN]), NO, [{"type": "response", "args": "too much"}]),
        (langchain([HUMAN]), "no", [{"type": "ignore", "args": None}]),
        (langchain([HUMAN]), EDIT, [{"type": "edit", "args": PAY}]),
        (AG2, YES, True),
        (AG2, NO, False),
        (AG2, "yes", True),
        (AG2, "always", "always"),
        (AG2, False, False),
        (PYDANTIC, YES, YES),
        (PYDANTIC, NO, NO),
        (PYDANTIC, EDIT, {"approved": True, "editedArgs": {"amount": 4}}),
        (schema(type="boolean"), YES, True),
        (schema(type="boolean"), NO, False),
        (
            members("approved", "reason", approved=BOOLEAN, reason=WHY, comment=TEXT),
            {"approved": False, "reason": "cost"},
            {"approved": False, "reason": "cost"},
        ),
        (
            members("approved", approved=BOOLEAN, arguments=CHOICE, amount={"type": "integer"}),
            {"approved": True, "arguments": {"amount": 1}},
            {"approved": True, "arguments": {"amount": 1}},
        ),
        (members("confirmed", confirmed=BOOLEAN), YES, {"confirmed": True}),
        (
            members("confirmed", confirmed=BOOLEAN, comment=TEXT),
            NO,
            {"confirmed": False, "comment": "too much"},
        ),
        (
            members("allow", "amount", allow=BOOLEAN, amount={"type": "integer", "default": 9}),
            EDIT,
            {"allow": True, "amount": 4},
        ),
        (
            members("allow", "amount", allow=BOOLEAN, amount={"type": "integer", "default": 9}),
            YES,
            {"allow": True, "amount": 9},
        ),
        (BARE, YES, YES),
        (BARE, NO, NO),
        (BARE, "later", "later"),
    ],
    ids=str,
)
def test_a_decision_becomes_the_payload_of_the_framework(
    question: Wire, decision: Any, expected: Any
) -> None:
    assert payload(question, decision) == expected
    assert payload(question, expected) == expected, "the framework's own payload stays"
    native = table.native_schema(question)
    assert native is None or ResponseSchema(native).problems(expected) == []
    served = table.response_schema(question)
    if served is not None and isinstance(decision, dict):
        assert ResponseSchema(served).problems(decision) == [], "the schema says so"
        assert ResponseSchema(served).problems(expected) == []


def test_a_reason_that_came_apart_from_the_payload_counts() -> None:
    apart = {"metadata": {"reason": "too much"}}
    assert payload(langchain(ONE), {"approved": False}, **apart) == {"decisions": [REJECTED]}
    assert payload(BARE, {"approved": False}, **apart) == NO
    entry = table.fitted(AG2, {"interruptId": "q", "status": "resolved", "payload": NO})
    assert entry["metadata"] == {"reason": "too much"}, "AG2's payload has no room for it"


def limited(*allowed: str) -> Wire:
    config = {"action_name": "pay", "allowed_decisions": list(allowed)}
    return langchain({**ONE, "review_configs": [config]})


@pytest.mark.parametrize(
    ("question", "decision"),
    [
        (limited("approve"), NO),
        (limited("approve"), EDIT),
        (limited("edit", "reject"), YES),
        (langchain([{**HUMAN, "config": {"allow_edit": True}}]), NO),
        (langchain(BATCH), EDIT),
        (AG2, EDIT),
        (schema(type="boolean"), EDIT),
    ],
    ids=str,
)
def test_what_a_question_does_not_allow_is_refused(question: Wire, decision: Wire) -> None:
    with pytest.raises(Undecidable):
        payload(question, decision)


def test_a_no_is_an_answer_where_only_that_is_allowed() -> None:
    expected = {"decisions": [{"type": "respond", "message": "too much"}]}
    assert payload(limited("approve", "respond"), NO) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"decisions": []},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        {"decisions": [{"type": "maybe"}]},
        {"decisions": [{"type": "edit"}]},
        "maybe",
        {},
    ],
    ids=str,
)
def test_a_payload_that_would_kill_the_graph_does_not_fit(wrong: Any) -> None:
    question = langchain(ONE)
    native = table.native_schema(question)
    assert native is not None
    assert ResponseSchema(native).problems(payload(question, wrong))


@pytest.mark.parametrize(
    "question",
    [
        schema(type="string"),
        schema(enum=["a", "b"]),
        schema(type=["boolean", ["string"]]),
        members("name", name=TEXT),
        langchain("What is your name?"),
        langchain({"question": "Sure?"}),
        langchain({"action_requests": []}),
        langchain([{**HUMAN, "config": {}}]),
        langchain([HUMAN, HUMAN]),
        langchain({"action_requests": ["pay"]}),
        langchain({"action_requests": [{"name": "pay"}] * 51}),
    ],
    ids=lambda question: str(question)[:60],
)
def test_other_questions_are_no_approvals(question: Wire) -> None:
    assert table.approval_of(question) is None
    assert table.response_schema(question) == question.get("responseSchema")


def test_definitions_that_a_schema_refers_to_stay_at_its_top() -> None:
    definitions = {"$defs": {"yes": BOOLEAN}}
    question = members("confirmed", confirmed=BOOLEAN, more={"$ref": "#/$defs/yes"})
    question["responseSchema"] |= definitions
    served = ResponseSchema(table.response_schema(question) or {})
    assert payload(question, YES) == {"confirmed": True}
    for answer in (YES, {"confirmed": True, "more": False}):
        assert served.problems(answer) == []
    assert served.problems({"confirmed": True, "more": 1})


def test_a_schema_that_refers_to_itself_stays_as_it_is() -> None:
    question = members("confirmed", confirmed=BOOLEAN, more={"$ref": "#/properties/confirmed"})
    assert table.response_schema(question) == question["responseSchema"]
    assert payload(question, YES) == {"confirmed": True}
    words = {"type": ["boolean", "string"], "not": {"$ref": "#/own/never"}}
    question = schema(**words)
    question["responseSchema"] |= {"own": {"never": {"const": "never"}}}
    assert table.response_schema(question) == question["responseSchema"]
    assert payload(question, YES) is True


def test_a_reference_can_lead_to_what_is_no_schema() -> None:
    """The intake takes such a question, and the transaction that ends its run makes the row."""
    own = members("approved", approved={"$ref": "#/x"})["responseSchema"]
    own |= {"x": {"type": ["null", "null"]}}
    ResponseSchema(own)
    assert table.response_schema({**BARE, "responseSchema": own}) == own


@pytest.mark.parametrize(
    ("value", "is_yes"),
    [
        (True, True), (False, False), (YES, True), (NO, False),
        ([{"type": "accept"}], True), ([{"type": "ignore"}], False), ("deny", False), ("go", True),
        ({"confirmed": False}, False), ({"accepted": True}, True),
        ({"decisions": [{"type": "approve"}, {"type": "edit"}]}, True),
        ({"decisions": [{"type": "approve"}, REJECTED]}, False), (REJECTED, False), (None, True),
    ],
)  # fmt: skip
def test_the_verdict_of_an_answer(value: Any, is_yes: bool) -> None:
    assert table.verdict({"status": "resolved", "payload": value}) is is_yes
    assert table.verdict({"status": "cancelled"}) is False
