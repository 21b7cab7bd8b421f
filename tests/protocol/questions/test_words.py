"""Approvals whose answer is a word, a variant, or a boolean among others."""

from typing import Any

import pytest

from agui_host.protocol.intake.response_schema import ResponseSchema
from agui_host.protocol.questions import table
from agui_host.protocol.questions.decision import Undecidable
from agui_host.protocol.questions.words import LONGEST
from tests.protocol.questions.shapes import Wire
from tests.protocol.questions.test_table import BOOLEAN, NO, TEXT, YES, members, payload, schema

NUMBERS = {"oneOf": [{"const": 1, "title": "Approve"}, {"const": 2, "title": "Reject"}]}
EITHER = {"anyOf": [TEXT, BOOLEAN]}
NAMED: Wire = {"$defs": {"Verdict": {"enum": ["APPROVED", "REJECTED"], "type": "string"}}}
BY_NAME = {"$ref": "#/$defs/Verdict"}
OBJECT = {"type": "object"}
EDIT: Wire = {"approved": True, "arguments": {"amount": 4}}


def variant(kind: str, **more: Any) -> Wire:
    question = members("type", *more, type={"const": kind}, **more)
    return dict(question["responseSchema"])


VARIANTS = [variant("approve"), variant("reject", message=TEXT)]
EDITED = [*VARIANTS, variant("edit", args=OBJECT)]


def one(*values: Any) -> Wire:
    return schema(enum=list(values))


def decided(*values: str, **more: Any) -> Wire:
    return members("decision", decision={"enum": list(values)}, **more)


CASES = [
    (one("approve", "deny"), "approve", "deny"),
    (one("no", "yes", "always"), "yes", "no"),
    (one("Yes", "No"), "Yes", "No"),
    (one("accept", "decline", "cancel"), "accept", "decline"),
    (one("proceed", "cancel"), "proceed", "cancel"),
    (
        one("allow_always", "allow_once", "reject_once", "reject_always"),
        "allow_once",
        "reject_once",
    ),
    (one("Yes, delete it", "No, keep it"), "Yes, delete it", "No, keep it"),
    (one("approveTool", "rejectTool"), "approveTool", "rejectTool"),
    (one(True, False, "always"), True, False),
    (schema(type=["string", "boolean"], enum=["yes", "no"]), "yes", "no"),
    (schema(**NUMBERS), 1, 2),
    (schema(**EITHER), True, False),
    (schema(oneOf=[BOOLEAN, {"enum": ["always"]}]), True, False),
    (schema(**BY_NAME, **NAMED), "APPROVED", "REJECTED"),
    (
        decided("approve", "reject"),
        {"decision": "approve"},
        {"decision": "reject", "reason": "too much"},
    ),
    (
        decided("approve", "reject", "edit", comment=TEXT),
        {"decision": "approve"},
        {"decision": "reject", "comment": "too much"},
    ),
    (
        members("decision", "note", decision={"enum": ["ok", "no"]}, note=TEXT),
        {"decision": "ok", "note": ""},
        {"decision": "no", "note": "too much"},
    ),
    (
        members("approved", approved={"enum": ["yes", "no"]}),
        {"approved": "yes"},
        {"approved": "no", "reason": "too much"},
    ),
    (
        members("answer", answer=EITHER),
        {"answer": True},
        {"answer": False, "reason": "too much"},
    ),
    (schema(oneOf=VARIANTS), {"type": "approve"}, {"type": "reject", "message": "too much"}),
    (schema(anyOf=EDITED), {"type": "approve"}, {"type": "reject", "message": "too much"}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "yes", "no"), CASES, ids=str)
def test_a_decision_is_the_option_that_means_it(question: Wire, yes: Any, no: Any) -> None:
    served = ResponseSchema(table.response_schema(question) or {})
    native = ResponseSchema(table.native_schema(question) or {})
    for decision, expected in ((YES, yes), (NO, no)):
        assert payload(question, decision) == expected
        assert payload(question, expected) == expected, "the framework's own payload stays"
        assert native.problems(expected) == []
        assert served.problems(expected) == [], "the schema says so"
        assert served.problems(decision) == [], "the schema says so"
        entry = {"interruptId": "q", "status": "resolved", "payload": expected}
        if not isinstance(expected, int) or isinstance(expected, bool):
            assert table.verdict(entry) is decision["approved"]


def test_an_option_is_read_only_if_it_is_short() -> None:
    """An agent's option can have millions of characters, and a question is read often."""
    long = "approve" + " it" * LONGEST
    assert table.approval_of(one(long, "deny")) is None


@pytest.mark.parametrize(
    ("question", "word"),
    [
        (one("approve", "deny"), "Yes."),
        (one("approve", "deny"), True),
        (one("yes", "no", "always"), "always"),
        (decided("approve", "reject"), False),
        (members("approved", approved=BOOLEAN), "yes"),
        (schema(type="boolean"), "no"),
    ],
    ids=str,
)
def test_a_bare_word_is_the_payload_where_a_schema_asks(question: Wire, word: Any) -> None:
    """The schema accepts or refuses it."""
    assert payload(question, word) == word


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            decided("approve", "reject", "edit", args=OBJECT),
            {"decision": "edit", "args": {"amount": 4}},
        ),
        (decided("approve", "reject", args=OBJECT), {"decision": "approve", "args": {"amount": 4}}),
        (schema(oneOf=EDITED), {"type": "edit", "args": {"amount": 4}}),
    ],
    ids=str,
)  # fmt: skip
def test_other_arguments_have_their_own_option(question: Wire, expected: Wire) -> None:
    assert payload(question, EDIT) == expected
    assert ResponseSchema(question["responseSchema"]).problems(expected) == []


@pytest.mark.parametrize(
    ("question", "decision", "message"),
    [
        (one("approve", "edit"), NO, "no answer that rejects; it takes approve, edit."),
        (one("yes", "no_preference"), NO, "no answer that rejects"),
        (one("approve", "deny"), EDIT, "cannot be changed"),
        (schema(oneOf=VARIANTS), EDIT, "The arguments of this action cannot be changed."),
    ],
    ids=str,
)
def test_an_option_that_is_not_there_is_named(question: Wire, decision: Wire, message: str) -> None:
    with pytest.raises(Undecidable, match=message):
        payload(question, decision)


@pytest.mark.parametrize(
    "question",
    [
        one("red", "blue"), one("deny", "later"), one("always", "never"), one("yes_to_all", "no"),
        one("approve_and_send", "approve_as_draft", "reject"), schema(enum=[1, 2]),
        members("name", "news", name=TEXT, news={"enum": ["yes", "no"]}),
        schema(oneOf=[variant("mail"), variant("fax")]), schema(oneOf=[TEXT, {"type": "number"}]),
    ],
    ids=str,
)  # fmt: skip
def test_a_question_without_a_clear_yes_is_no_approval(question: Wire) -> None:
    assert table.approval_of(question) is None
    assert payload(question, YES) == YES, "the check of its schema refuses it"
    entry = {"interruptId": "q", "status": "resolved", "payload": YES}
    assert "no yes and no" in table.remedy(question, entry)
