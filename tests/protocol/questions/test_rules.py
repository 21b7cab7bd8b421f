"""What frameworks ask without an interrupt is a question; its answer goes back as theirs."""

import json
from typing import Any

import pytest

from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.questions import delivery, rules, table
from tests.protocol.questions.shapes import ONE, Wire

EVERY = rules.RULES
CONFIRM = {
    "originalFunctionCall": {"id": "f", "name": "pay", "args": {"amount": 5}},
    "toolConfirmation": {"hint": "Pay 5?", "confirmed": False},
}


def outcome_of(*events: Wire, using: Any = EVERY, end: Wire | None = None, **input: Any) -> Wire:
    """The outcome of a run of an agent with these rules."""
    intake = Intake("t", "r", input=input, rules=using)
    for event in events:
        intake.accept(event)
    if end is None:
        intake.finish()
    else:
        intake.accept({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **end})
    assert intake.terminal
    return dict(intake.terminal.get("outcome") or {"type": "success"})


def custom(value: Any, **more: Any) -> Wire:
    return {"type": "CUSTOM", "name": "on_interrupt", "value": value, **more}


def call(name: str, arguments: Any, key: str = "c") -> list[Wire]:
    text = json.dumps(arguments)
    return [
        {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": text[:5]},
        {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": text[5:]},
        {"type": "TOOL_CALL_END", "toolCallId": key},
    ]


def only(outcome: Wire) -> Wire:
    assert outcome["type"] == "interrupt"
    (question,) = outcome["interrupts"]
    return dict(question)


def answered(question: Wire, payload: Any, status: str = "resolved") -> Wire:
    """The input that an agent gets with this answer."""
    entry = table.fitted(question, {"interruptId": "x", "status": status, "payload": payload})
    entry["interruptId"] = question["id"]
    body = {"messages": [], "forwardedProps": {"own": 1}}
    return delivery.handed(delivery.delivered(body, [(question, entry)]))


@pytest.mark.parametrize("end", [None, {}, {"outcome": {"type": "success"}}], ids=str)
def test_on_interrupt_is_a_question(end: Wire | None) -> None:
    value = json.dumps({"question": "Approve?"})
    question = only(outcome_of(custom(value, rawEvent={"value": {}, "id": "lg-1"}), end=end))
    assert question["id"] == "lg-1", "LangGraph's own id"
    assert question["message"] == "Approve?"
    got = answered(question, "yes")
    assert "resume" not in got
    assert got["forwardedProps"] == {
        "own": 1, "command": {"resume": "yes", "interruptEvent": '{"question":"Approve?"}'},
    }  # fmt: skip
    assert answered(question, None)["forwardedProps"]["command"]["resume"] is True
    cancelled = answered(question, None, "cancelled")["forwardedProps"]["command"]["resume"]
    assert cancelled == {"__agui_cancelled__": True, "interrupt_id": "lg-1"}


def test_langchains_middleware_at_the_defaults_of_ag_ui_langgraph() -> None:
    question = only(outcome_of(custom(json.dumps(ONE))))
    assert question["id"] == "r-on_interrupt-1"
    for payload, kind in ((True, "approve"), ({"approved": False, "reason": "no"}, "reject")):
        resumed = answered(question, payload)["forwardedProps"]["command"]["resume"]
        assert [each["type"] for each in resumed["decisions"]] == [kind]
    dismissed = answered(question, None, "cancelled")["forwardedProps"]["command"]["resume"]
    assert dismissed == {"decisions": [{"type": "reject"}]}


def test_several_questions_are_answered_by_their_ids() -> None:
    first, second = (custom("Sure?", rawEvent={"id": name}) for name in ("a", "b"))
    questions = outcome_of(first, second)["interrupts"]
    assert [each["message"] for each in questions] == ["Sure?", "Sure?"]
    entries = [{"interruptId": n, "status": "resolved", "payload": n.upper()} for n in "ab"]
    body = {"messages": [], "forwardedProps": None}
    got = delivery.delivered(body, zip(questions, entries, strict=True))
    assert got["forwardedProps"] == {"command": {"resume": {"a": "A", "b": "B"}}}
    assert [entry["interruptId"] for entry in got["resume"]] == ["a", "b"], "the log has them"


def test_two_questions_with_one_id_are_two() -> None:
    events = [custom("Sure?", rawEvent={"id": "c"}), *call("pay", {"amount": 5})]
    interrupts = outcome_of(*events)["interrupts"]
    assert [each["id"] for each in interrupts] == ["c", "c~"]
    assert interrupts[1]["toolCallId"] == "c"


def test_questions_are_bounded() -> None:
    """A run holds them until its end, and its last event has all of them."""
    large = [custom("x" * 900_000, rawEvent={"id": name}) for name in "abcd"]
    assert [each["id"] for each in outcome_of(*large)["interrupts"]] == ["a", "b"]
    calls = [event for n in range(60) for event in call("pay", {}, f"c{n}")]
    assert len(outcome_of(*calls)["interrupts"]) == rules.MOST


@pytest.mark.parametrize("raw", ["x", [1], {"raw": None}], ids=str)
def test_metadata_of_another_form_does_not_stop_an_answer(raw: Any) -> None:
    (question,) = outcome_of(custom("Sure?"))["interrupts"]
    question["metadata"]["langgraph"] = raw
    assert answered(question, "yes")["forwardedProps"]["command"] == {"resume": "yes"}


@pytest.mark.parametrize("rule", ["adk", "agno", "another"])
def test_a_mark_that_the_agent_makes_itself_is_no_rule(rule: str) -> None:
    metadata = {table.MARK: {table.RULE: rule}}
    got = answered({"id": "q", "reason": "confirm", "metadata": metadata}, {"approved": True})
    (entry,) = got["resume"]
    assert (entry["interruptId"], entry["status"]) == ("q", "resolved")
    assert got["messages"] == []


@pytest.mark.parametrize("end", [None, {}], ids=str)
def test_a_schema_that_cannot_be_checked_is_left_out(end: Wire | None) -> None:
    value = {"question": "Sure?", "responseSchema": {"type": "string", "pattern": "(?=x)"}}
    question = only(outcome_of(custom(value), end=end))
    assert "responseSchema" not in question


def test_crewai_sends_a_whole_interrupt_and_reads_resume() -> None:
    whole = {"id": "flow", "reason": "crewai:human_feedback", "message": "Good?",
             "responseSchema": {"type": "string", "enum": ["yes", "no"]},
             "metadata": {"crewai": {"flowId": "flow"}}}  # fmt: skip
    question = only(outcome_of(custom(whole)))
    assert {name: question[name] for name in ("id", "reason", "message", "responseSchema")} == {
        name: whole[name] for name in ("id", "reason", "message", "responseSchema")
    }
    got = answered(question, "yes")
    assert got["resume"] == [{"interruptId": "flow", "status": "resolved", "payload": "yes"}]


@pytest.mark.parametrize(
    ("events", "using", "end"),
    [
        ([custom("Sure?")], (), None),
        ([{**custom("Sure?"), "name": "other"}], EVERY, None),
        ([custom("Sure?")], EVERY, {"outcome": {"type": "cancelled"}}),
        (call("pay", {}), ("on_interrupt", "adk"), None),
        (call("adk_request_confirmation", CONFIRM), ("on_interrupt",), None),
    ],
    ids=str,
)
def test_nothing_is_asked_without_a_rule(events: list[Wire], using: Any, end: Wire | None) -> None:
    assert outcome_of(*events, using=using, end=end)["type"] != "interrupt"


def test_an_interrupt_of_the_agent_itself_counts() -> None:
    own = {"type": "interrupt", "interrupts": [{"id": "q", "reason": "confirm"}]}
    assert outcome_of(custom("Sure?"), end={"outcome": own}) == own


def test_adks_confirmation() -> None:
    question = only(outcome_of(*call("adk_request_confirmation", CONFIRM)))
    assert (question["id"], question["toolCallId"], question["message"]) == ("c", "c", "Pay 5?")
    got = answered(question, {"approved": True})
    assert got["messages"] == [
        {"id": "c-answer", "role": "tool", "toolCallId": "c", "content": '{"confirmed":true}'}
    ]
    assert "resume" not in got
    (no,) = answered(question, {"approved": False, "reason": "late"})["messages"]
    assert json.loads(no["content"]) == {"confirmed": False, "payload": {"reason": "late"}}
    (dismissed,) = answered(question, None, "cancelled")["messages"]
    assert json.loads(dismissed["content"]) == {"confirmed": False}


def test_adks_confirmation_with_a_payload_to_fill_in() -> None:
    filled = {**CONFIRM, "toolConfirmation": {"hint": "How many?", "payload": {"days": 0}}}
    question = only(outcome_of(*call("adk_request_confirmation", filled)))
    (got,) = answered(question, {"approved": True, "arguments": {"days": 3}})["messages"]
    assert json.loads(got["content"]) == {"confirmed": True, "payload": {"days": 3}}


def test_agnos_confirmation_is_any_call_but_those_of_the_client() -> None:
    tools = [{"name": "theirs", "description": "", "parameters": {}}]
    calls = [*call("pay", {"amount": 5}), *call("theirs", {}, "d")]
    question = only(outcome_of(*calls, tools=tools))
    assert (question["id"], question["message"]) == ("c", "Run pay?")
    approval = table.approval_of(question)
    assert approval is not None
    assert approval.actions[0].arguments == {"amount": 5}
    (got,) = answered(question, {"approved": False, "reason": "late"})["messages"]
    assert json.loads(got["content"]) == {"accepted": False, "note": "late"}


def test_a_call_with_a_result_asks_nothing() -> None:
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "paid"}
    assert outcome_of(*call("pay", {}), result)["type"] == "success"


def test_arguments_that_never_end_are_left_out() -> None:
    long = "x" * (rules.LONGEST + 10)
    question = only(outcome_of(*call("pay", {"text": long}), using=("agno",)))
    assert question["metadata"][table.MARK]["tool"] == "pay"
    assert question["metadata"][table.MARK]["arguments"] == {}, "they are not the agent's any more"


def test_of_many_calls_the_first_ones_are_held() -> None:
    run = rules.Asked(("agno",), "r")
    for n in range(rules.MOST_OPEN):
        for event in call("pay", {}, f"done{n}"):
            run.note(event)
        run.note({"type": "TOOL_CALL_RESULT", "toolCallId": f"done{n}"})
    for n in range(rules.MOST_OPEN + 5):
        for event in call("pay", {"amount": n}, str(n))[:-1]:
            run.note(event)
    assert len(run.reading) == rules.MOST_OPEN
    assert (run.outcome({}, ["99"]) or {})["interrupts"][0]["metadata"][table.MARK] == {
        "rule": "agno", "tool": "pay", "arguments": {"amount": 99},
    }  # fmt: skip
