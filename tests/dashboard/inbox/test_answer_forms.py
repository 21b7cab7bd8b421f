"""Forms from response schemas: what a person fills in, and the answer that comes of it."""

import json
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from agui_host.dashboard.inbox.form import AnswerForm
from agui_host.protocol.intake.response_schema import ResponseSchema
from agui_host.protocol.questions.parts import choice_of, parts_of
from runs.models import Interrupt


def form(schema: Any, reason: str = "confirm", **data: Any) -> AnswerForm:
    """The form of a question; with ``data``, as it comes back."""
    wire = {} if schema is None else {"responseSchema": schema}
    row = Interrupt(reason=reason, question=json.dumps(wire))
    if not data:
        return AnswerForm(row)
    query = QueryDict(mutable=True)
    for name, value in data.items():
        key = name if name == "choice" else f"{row.pk}-{name}"
        query.setlist(key, value if isinstance(value, list) else [value])
    return AnswerForm(row, query)


def payload(schema: Any, **data: Any) -> Any:
    filled = form(schema, **data)
    assert filled.is_valid(), filled.errors
    answer = filled.answer()
    assert answer["status"] == "resolved"
    if schema is not None:
        assert ResponseSchema(schema).problems(answer.get("payload")) == []
    return answer.get("payload")


def of(required: list[str] | None = None, **properties: Any) -> Any:
    must = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": must}


BOOLEAN, TEXT = {"type": "boolean"}, {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "labels"),
    [
        (BOOLEAN, ["Approve", "Deny"]),
        (of(approved=BOOLEAN), ["Approve", "Deny"]),
        (of(["approved"], approved=BOOLEAN, edited=TEXT), ["Approve", "Deny"]),
        (of(allow=BOOLEAN), ["Allow", "Deny"]),
        (of(isConfirmed=BOOLEAN), ["Confirm", "Reject"]),
        (of(accepted=BOOLEAN, remember=BOOLEAN), ["Accept", "Decline"]),
        (of(ship_it=BOOLEAN), ["Yes", "No"]),
        ({"enum": ["ship", "hold"]}, ["ship", "hold"]),
        (of(decision={"enum": ["ship", "hold"]}), ["ship", "hold"]),
        (
            of(size={"oneOf": [{"const": 1, "title": "Small"}, {"const": 2, "title": "Big"}]}),
            ["Small", "Big"],
        ),
        (
            {"$defs": {"D": {"enum": ["a", "b"]}}} | of(d={"$ref": "#/$defs/D"}),
            ["a", "b"],
        ),
        (of(one=BOOLEAN, two=BOOLEAN), ["Send answer"]),
        (of(day={"enum": list("abcdef")}), ["Send answer"]),
        (of(["name"], name=TEXT, colour={"enum": ["red"]}), ["Send answer"]),
        (of(name=TEXT, colour={"enum": ["red", "blue"]}), ["Send answer"]),
        (of([], why=TEXT, colour={"enum": ["red", "blue"]}), ["Send answer"]),
        (TEXT, ["Send answer"]),
        (None, ["Approve", "Reject"]),
    ],
    ids=str,
)
def test_the_buttons_have_the_words_of_the_decision(schema: Any, labels: list[str]) -> None:
    assert [label for _, label in form(schema).buttons] == labels


@pytest.mark.parametrize(
    ("schema", "data", "answer"),
    [
        (BOOLEAN, {"choice": "1"}, False),
        (of(["approved"], approved=BOOLEAN, edited=TEXT), {"choice": "0"}, {"approved": True}),
        (
            of(["approved"], edited=TEXT, approved=BOOLEAN),
            {"choice": "0", "part0": "half\r\nof it "},
            {"approved": True, "edited": "half\nof it "},
        ),
        ({"enum": ["a", 1, None, {"b": 2}]}, {"choice": "3"}, {"b": 2}),
        (of(one=BOOLEAN, two=BOOLEAN), {"choice": "send", "part0": "0", "part1": "1"},
         {"one": True, "two": False}),
        (of(n={"type": "integer"}), {"choice": "send", "part0": "7"}, {"n": 7}),
        (of(n={"type": "number"}), {"choice": "send", "part0": "-0.5"}, {"n": -0.5}),
        (of(day={"type": "string", "format": "date"}),
         {"choice": "send", "part0": "2026-11-22"}, {"day": "2026-11-22"}),
        (of(at={"type": "string", "format": "date-time"}),
         {"choice": "send", "part0": "2026-11-22T10:30"}, {"at": "2026-11-22T10:30:00Z"}),
        (of(tags={"type": "array", "items": TEXT}),
         {"choice": "send", "part0": " a\r\n\r\nb "}, {"tags": ["a", "b"]}),
        (of(numbers={"type": "array", "items": {"type": "number"}}),
         {"choice": "send", "part0": "1\n2.5"}, {"numbers": [1, 2.5]}),
        (of(toppings={"type": "array", "items": {"enum": ["ham", "egg", "rocket"]}}),
         {"choice": "send", "part0": ["0", "2"]}, {"toppings": ["ham", "rocket"]}),
        (of(toppings={"type": "array", "items": {"enum": ["ham"]}}),
         {"choice": "send"}, {"toppings": []}),
        (of(name={"anyOf": [TEXT, {"type": "null"}]}), {"choice": "send"}, {"name": None}),
        (of([], name=TEXT, n={"type": "integer"}), {"choice": "send"}, {}),
        (of(a={"type": "object"}), {"choice": "send", "part0": '{"b": []}'}, {"a": {"b": []}}),
        (of(deep={"type": "array"}), {"choice": "send", "part0": "[]"}, {"deep": []}),
        ({"type": "object"}, {"choice": "send", "part0": '{"x": 1}'}, {"x": 1}),
        (TEXT, {"choice": "send", "part0": "words"}, "words"),
        (None, {"choice": "send"}, {"approved": True}),
        (None, {"choice": "send", "part0": "but gently"}, "but gently"),
        (None, {"choice": "reject"}, {"approved": False}),
        (None, {"choice": "reject", "part0": " too much "},
         {"approved": False, "reason": "too much"}),
    ],
    ids=str,
)  # fmt: skip
def test_the_answer_fits_the_schema(schema: Any, data: dict[str, Any], answer: Any) -> None:
    assert payload(schema, **data) == answer


def test_a_default_is_there_to_be_edited() -> None:
    fields = form(of(to=TEXT | {"default": "Ann"}, sizes={"type": "array", "default": [1]}))
    assert [fields[name].initial for name in fields.fields] == ["Ann", "[\n  1\n]"]


@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        (of(n={"type": "integer"}), {"part0": "many"}, "Enter a whole number"),
        (of(n={"type": "integer"}), {"part0": "9" * 30}, "less than or equal"),
        (of(n={"type": "array", "items": {"type": "number"}}), {"part0": "1\nx"}, "x is not a num"),
        (of(n={"type": "array", "items": {"type": "number"}}), {"part0": "nan"}, "JSON can carry"),
        (of(deep={"type": "object"}), {"part0": "{"}, "This is not JSON"),
        (of(deep={"type": "object"}), {"part0": "[" * 5000}, "nested deeper"),
        (of(deep={"type": "object"}), {"part0": ""}, "required"),
        (of(name=TEXT), {"part0": "a\x00b"}, "Null characters"),
        (of(a=BOOLEAN, b=BOOLEAN), {"part0": "0", "part1": "7"}, "valid choice"),
    ],
    ids=str,
)
def test_an_error_stands_at_its_field(schema: Any, data: dict[str, str], message: str) -> None:
    bound = form(schema, choice="send", **data)
    assert not bound.is_valid()
    assert message in str(bound.errors)
    assert "__all__" not in bound.errors


def test_the_hosts_check_speaks_at_the_fields() -> None:
    schema = of(name=TEXT | {"minLength": 3}, deep={"type": "object"})
    bound = form(schema, choice="send", part0="ab", part1="{}")
    assert bound.is_valid()
    bound.blame(
        [
            {"path": "$.name", "message": "the value is shorter than 3 characters"},
            {"path": "$.deep.a[0]", "message": "odd"},
            {"path": "$", "message": "whole"},
            {"path": "$.other", "message": "unknown"},
        ]
    )
    assert bound.errors["part0"] == ["The value is shorter than 3 characters"]
    assert bound.errors["part1"] == ["Odd"]
    assert bound.errors["__all__"] == ["Whole", "$.other: Unknown"]


def test_to_dismiss_needs_no_field() -> None:
    bound = form(of(n={"type": "integer"}), choice="dismiss", part0="many")
    assert bound.is_valid()
    assert bound.answer() == {"status": "cancelled"}
    assert not form(of(n={"type": "integer"}), choice="0", part0="1").is_valid()


def test_an_input_that_is_required_is_required() -> None:
    assert not form(None, "input_required", choice="send").is_valid()
    assert [label for _, label in form(None, "input_required").buttons] == ["Send answer"]


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    | st.sampled_from(["object", "string", "array", "null", "#/properties", "$ref"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["type", "properties", "required", "enum", "const", "oneOf", "anyOf", "allOf", "items",
             "$ref", "default", "title", "description", "maxLength", "format", "a", "approved"]
        ), inner, max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


@given(schema=st.dictionaries(st.text(max_size=10), WILD, max_size=6) | WILD)
def test_no_schema_breaks_the_form(schema: Any) -> None:
    parts = parts_of(schema)
    assert 1 <= len(parts) <= 30
    assert choice_of(parts) in [None, *parts]
    shape = form(schema if isinstance(schema, dict) else {})
    assert shape.buttons
    assert "<script" not in shape.as_p()


def test_an_absurd_schema_is_one_field_for_json() -> None:
    wide = of(**{f"p{n}": TEXT for n in range(500)})
    assert [part.kind for part in parts_of(wide)] == ["json"]
    long = of(**{"x" * 60_000: TEXT | {"title": "t" * 60_000, "description": "d" * 60_000}})
    (part,) = parts_of(long)
    assert len(part.label) + len(part.help) < 1000
