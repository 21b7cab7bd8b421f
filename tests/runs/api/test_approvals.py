"""Approvals of every framework, answered by ``POST /api/v1/interrupts/{id}/answer``."""

import json
from typing import Any

import pytest

from agui_host.protocol.intake.response_schema import ResponseSchema
from runs.models import Interrupt, Run
from tests.asgi import Answer, ask_now
from tests.cast import Cast
from tests.protocol.questions.shapes import AG2, BATCH, HUMAN, ONE, PYDANTIC, Wire, langchain
from tests.runs.asking import interrupted, question, standing

pytestmark = pytest.mark.django_db(transaction=True)

YES: Wire = {"approved": True}
NO: Wire = {"approved": False, "reason": "too much"}
APPROVED: Wire = {"decisions": [{"type": "approve"}]}
EDITED: Wire = {
    "decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 4}}}]
}
WORDS: Wire = {**question("q"), "responseSchema": {"type": "string", "enum": ["approve", "deny"]}}
EDIT: Wire = {"approved": True, "arguments": {"amount": 4}}


def send(cast: Cast, body: Any) -> Answer:
    path = f"/api/v1/interrupts/{Interrupt.objects.get().pk}/answer"
    return ask_now("POST", path, cast.alice.headers, json=body)


def brought(answer: Answer) -> list[Wire]:
    """The answers that the new run gives its agent."""
    assert answer.status == 200, answer.body
    body = json.loads(Run.objects.get(pk=answer.json["run"]["id"]).input)
    return list(body["resume"])


@pytest.mark.parametrize(
    ("ask", "body", "payload"),
    [
        (langchain(ONE), YES, {"decisions": [{"type": "approve"}]}),
        (langchain(BATCH), NO, {"decisions": [{"type": "reject", "message": "too much"}] * 2}),
        (langchain(ONE), EDIT, EDITED),
        (langchain(ONE), APPROVED, APPROVED),
        (AG2, YES, True),
        (AG2, NO, False),
        (PYDANTIC, EDIT, {"approved": True, "editedArgs": {"amount": 4}}),
        (question("q"), NO, NO),
        (WORDS, YES, "approve"),
        (WORDS, NO, "deny"),
        (langchain([HUMAN]), NO, [{"type": "response", "args": "too much"}]),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("around", [False, True], ids=["alone", "as a payload"])
def test_a_decision_reaches_the_agent_as_its_framework_reads_it(
    cast: Cast, ask: Wire, body: Wire, payload: Any, around: bool
) -> None:
    interrupted(cast.alice, ask)
    (entry,) = brought(send(cast, {"status": "resolved", "payload": body} if around else body))
    assert entry["payload"] == payload
    again = send(cast, {"status": "resolved", "payload": payload})
    assert again.status == 200, "the same answer in the framework's words"


def test_the_schema_of_a_question_says_what_it_takes(cast: Cast) -> None:
    interrupted(cast.alice, langchain(ONE))
    path = f"/api/v1/interrupts/{Interrupt.objects.get().pk}"
    served = ask_now("GET", path, cast.alice.headers).json["response_schema"]
    for answer in (YES, NO, EDIT, {"decisions": [{"type": "approve"}]}):
        assert ResponseSchema(served).problems(answer) == []
    for answer in ({"approved": "yes"}, {"decisions": []}, {"decisions": [{"type": "go"}]}, 1):
        assert ResponseSchema(served).problems(answer)


def test_a_question_without_a_yes_says_what_it_takes(cast: Cast) -> None:
    interrupted(cast.alice, {**WORDS, "responseSchema": {"enum": ["red", "blue"]}})
    refused = send(cast, YES)
    assert refused.status == 422, refused.body
    assert "no yes and no; it takes red, blue." in str(refused.json["error"]["details"])
    assert brought(send(cast, {"status": "resolved", "payload": "red"}))[0]["payload"] == "red"


def test_an_answer_that_would_kill_the_run_is_refused(cast: Cast) -> None:
    config = {"action_name": "pay", "allowed_decisions": ["approve"]}
    interrupted(cast.alice, langchain({**ONE, "review_configs": [config]}))
    for body in (NO, EDIT, {"decisions": []}, {"status": "resolved", "payload": "hm"}):
        refused = send(cast, body)
        assert refused.status == 422, refused.body
        assert refused.json["error"]["code"] == "interrupt_answer_invalid"
    assert "pay cannot be rejected." in str(send(cast, NO).json)
    assert standing() == {"q": "open"}


@pytest.mark.parametrize(
    "body",
    [
        {}, {"reason": "why"}, {"approved": None}, {**YES, "payload": 1}, {**YES, "decisions": []},
        {**YES, "status": "cancelled"}, {"approved": [1]}, {**YES, "arguments": "x"},
        pytest.param({"decisions": [{}] * 51}, id="51 decisions"),
    ],
    ids=str,
)  # fmt: skip
def test_a_body_is_one_kind_of_answer(cast: Cast, body: Wire) -> None:
    interrupted(cast.alice, question("q"))
    assert send(cast, body).status == 422
    assert standing() == {"q": "open"}


def test_a_dismissal_is_a_no_for_a_framework_that_knows_no_other(cast: Cast) -> None:
    interrupted(cast.alice, langchain(ONE))
    (entry,) = brought(send(cast, {"status": "cancelled"}))
    assert entry["status"] == "resolved"
    assert entry["payload"] == {"decisions": [{"type": "reject"}]}
    assert standing() == {"q": "cancelled"}


def test_ag2_gets_the_proof_that_its_question_came_with(cast: Cast) -> None:
    interrupted(cast.alice, AG2)
    (entry,) = brought(send(cast, NO))
    assert entry["metadata"] == {"ag2": {"proof": "secret-1"}, "reason": "too much"}
