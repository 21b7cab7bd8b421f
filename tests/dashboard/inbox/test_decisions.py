"""The form of a framework's approval: what its buttons and fields make."""

import json
from typing import Any

import pytest
from django.http import QueryDict

from agui_host.dashboard.inbox.decisions import DecisionForm, form_of, outcome, size_of
from agui_host.dashboard.inbox.form import AnswerForm
from agui_host.protocol.questions import table
from runs.models import Interrupt
from tests.protocol.questions.shapes import AG2, BATCH, ONE, PYDANTIC, Wire, langchain


def form(question: Wire, choice: str | None = None, **data: str) -> AnswerForm:
    row = Interrupt(reason=question["reason"], question=json.dumps(question))
    approval = table.approval_of(question)
    if choice is None:
        return form_of(row, approval, None)
    query = QueryDict(mutable=True)
    query["choice"] = choice
    for name, value in data.items():
        query[f"{row.pk}-{name}"] = value
    return form_of(row, approval, query)


def answer(question: Wire, choice: str, **data: str) -> Wire:
    filled = form(question, choice, **data)
    assert filled.is_valid(), filled.errors
    return filled.answer()


EDITED = {"argument0_0": "4", "argument0_1": "Bob"}


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        (langchain(ONE), ["Approve", "Reject"]),
        (langchain(BATCH), ["Approve all", "Reject all", "Send decisions"]),
        (AG2, ["Approve", "Reject"]),
        (PYDANTIC, ["Approve", "Deny"]),
    ],
    ids=str,
)
def test_buttons(question: Wire, labels: list[str]) -> None:
    assert [label for _, label in form(question).buttons] == labels


def test_the_proposed_arguments_are_in_fields() -> None:
    page = form(langchain(ONE))
    assert isinstance(page, DecisionForm)
    (group,) = page.groups
    assert [(field.label, field.initial) for field in group["fields"]] == [
        ("amount", 5), ("to", "Ann"),
    ]  # fmt: skip
    assert page.edit == ("edit", "Approve with changes")


@pytest.mark.parametrize(
    ("choice", "data", "decision"),
    [
        ("approve", {}, {"type": "approve"}),
        ("approve", {"argument0_0": "no number", "reason0": "x"}, {"type": "approve"}),
        ("reject", {}, {"type": "reject"}),
        ("reject", {"reason0": "too\r\nmuch "}, {"type": "reject", "message": "too\nmuch"}),
        (
            "edit",
            EDITED,
            {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 4, "to": "Bob"}}},
        ),
        (
            "edit",
            {"argument0_1": ""},
            {"type": "edit", "edited_action": {"name": "pay", "args": {"to": ""}}},
        ),
    ],
    ids=str,
)
def test_one_action(choice: str, data: dict[str, str], decision: Wire) -> None:
    result = answer(langchain(ONE), choice, **data)
    assert result["payload"] == {"decisions": [decision]}


def test_several_actions_one_by_one() -> None:
    data = {"decision0": "edit", "decision1": "reject", "reason1": "no", **EDITED}
    edit, reject = answer(langchain(BATCH), "each", **data)["payload"]["decisions"]
    assert edit["edited_action"]["args"] == {"amount": 4, "to": "Bob"}
    assert reject == {"type": "reject", "message": "no"}
    both = answer(langchain(BATCH), "approve")["payload"]["decisions"]
    assert both == [{"type": "approve"}] * 2


@pytest.mark.parametrize(
    ("choice", "data", "where"),
    [
        ("each", {"decision0": "approve"}, "decision1"),
        ("each", {"decision0": "approve", "decision1": "edit"}, "decision1"),
        ("edit", {}, "__all__"),
        ("whatever", {}, "__all__"),
    ],
    ids=str,
)
def test_what_is_not_decided_comes_back(choice: str, data: dict[str, str], where: str) -> None:
    result = form(langchain(BATCH), choice, **data)
    assert not result.is_valid()
    assert where in result.errors


def test_an_edit_that_is_wrong_comes_back_at_its_field() -> None:
    result = form(langchain(ONE), "edit", argument0_0="no number", argument0_1="Bob")
    assert not result.is_valid()
    assert list(result.errors) == ["argument0_0"]


def test_ag2() -> None:
    assert answer(AG2, "approve")["payload"] is True
    result = answer(AG2, "reject", reason0="no")
    assert (result["payload"], result["metadata"]) == (False, {"reason": "no"})
    assert answer(AG2, "dismiss") == {"status": "cancelled"}


@pytest.mark.parametrize(
    "arguments",
    [{}, {"n": None}, {"n": True}, {"n": 1.5}, {"n": [1]}, {"n": {"m": 1}}, {"n": "a\nb"},
     {"n": ""}, {f"n{n}": n for n in range(31)}],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_what_nobody_changed_comes_back_as_it_was(arguments: Any) -> None:
    action = {"name": "pay", "args": arguments}
    question = langchain({**ONE, "action_requests": [action]})
    page = form(question)
    data = {}
    for field in page:
        value = field.value()
        data[field.name] = "" if value is None else str(value)
    result = answer(question, "edit", **data)["payload"]["decisions"][0]
    assert result["edited_action"]["args"] == arguments


@pytest.mark.parametrize(
    ("payload", "word"),
    [
        ({"decisions": [{"type": "approve"}]}, "Approve"),
        ({"decisions": [{"type": "reject", "message": "no"}]}, "Reject"),
    ],
)
def test_the_outcome(payload: Wire, word: str) -> None:
    approval = table.approval_of(langchain(ONE))
    assert approval is not None
    verdict, entries = outcome(approval, {"status": "resolved", "payload": payload})
    assert verdict == word
    assert bool(entries) is (word == "Reject"), "the reason is to be read"


def batch(actions: int, arguments: int) -> Wire:
    names = {f"a{n}": n for n in range(arguments)}
    return langchain({"action_requests": [{"name": "pay", "args": names}] * actions})


@pytest.mark.parametrize("text", ["", "[1]", "5", '"text"'])
def test_all_arguments_are_never_replaced_by_none(text: str) -> None:
    result = form(batch(1, 31), "edit", argument0_0=text)
    assert not result.is_valid()
    assert result.errors == {"argument0_0": ["Write the arguments as a JSON object."]}


def test_many_actions_have_one_field_each_for_their_arguments() -> None:
    page = form(batch(50, 30))
    assert len(page.fields) == 150, "Django refuses more than 1,000"
    data = {f"decision{n}": "approve" for n in range(1, 50)}
    result = answer(batch(50, 30), "each", decision0="edit", argument0_0='{"b": 1}', **data)
    first, *others = result["payload"]["decisions"]
    assert first["edited_action"]["args"] == {"b": 1}
    assert others == [{"type": "approve"}] * 49


@pytest.mark.parametrize(("actions", "arguments"), [(1, 2), (3, 30), (20, 10), (50, 30)])
def test_the_size_of_a_form(actions: int, arguments: int) -> None:
    approval = table.approval_of(batch(actions, arguments))
    assert abs(len(form(batch(actions, arguments)).fields) - size_of(approval)) <= 1
