"""How answers reach the agent: in ``resume``, and in the way of the framework that asked.

An answer to an ``on_interrupt`` is ``forwardedProps.command.resume``, one to a confirmation of ADK
or Agno is the result of its call. ``resume`` has these answers too, for readers of the log; the
agent gets it without them (``handed``).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.protocol.questions.decision import Undecidable
from agui_host.protocol.questions.rules import ADK, AGNO, ON_INTERRUPT
from agui_host.protocol.questions.table import MARK, Question, dismissed, rule_of
from agui_host.protocol.strict_json import dumps

Wire = dict[str, Any]
SPECIAL = frozenset({"metadata", "responseSchema"})
"""A question without these members is of no framework: its answer is delivered as it is."""
CANCELLED = "__agui_cancelled__"
"""The member by which a graph of ag-ui-langgraph learns that its question was dismissed."""


def delivered(body: Mapping[str, Any], answers: Iterable[tuple[Question, Wire]]) -> Wire:
    """A RunAgentInput with these answers to these questions."""
    resume: list[Wire] = []
    results: list[Wire] = []
    commands: list[tuple[Question, Wire]] = []
    for question, entry in answers:
        answer = _addressed(question, _understood(question, entry))
        rule = rule_of(question)
        if rule == ON_INTERRUPT:
            commands.append((question, answer))
        elif rule in (ADK, AGNO) and "toolCallId" in question:
            results.append(_result(question, answer))
        else:  # A mark that the agent made itself is no rule.
            rule = ""
        elsewhere = rule and not question["metadata"][MARK].get("resume")
        resume.append(_marked(answer, rule) if elsewhere else answer)
    whole: Wire = {**body, "resume": resume}
    if results:
        whole["messages"] = [*body["messages"], *results]
    if commands:
        whole["forwardedProps"] = _commanded(body["forwardedProps"], commands)
    return whole


def handed(body: Mapping[str, Any]) -> Wire:
    """The RunAgentInput as the agent gets it: without answers that it finds elsewhere in it."""
    rest = {name: value for name, value in body.items() if name != "resume"}
    own = [entry for entry in body.get("resume", ()) if not _is_marked(entry)]
    return {**rest, "resume": own} if own else rest


def _understood(question: Question, entry: Wire) -> Wire:
    """The entry; a dismissal that the framework would not understand is a no."""
    if entry["status"] == "resolved":
        return entry
    try:
        payload = dismissed(question)
    except Undecidable:
        return entry
    return entry if payload is None else {**entry, "status": "resolved", "payload": payload}


def _addressed(question: Question, entry: Wire) -> Wire:
    """With the proof that AG2 can require: that the answer comes from where it asked."""
    metadata = question.get("metadata")
    ag2 = metadata.get("ag2") if isinstance(metadata, dict) else None
    if not isinstance(ag2, dict) or not isinstance(ag2.get("proof"), str):
        return entry
    own = entry.get("metadata") or {}
    return {**entry, "metadata": {"ag2": {"proof": ag2["proof"]}, **own}}


def _marked(entry: Wire, rule: str) -> Wire:
    return {**entry, "metadata": {**(entry.get("metadata") or {}), MARK: {"rule": rule}}}


def _is_marked(entry: Mapping[str, Any]) -> bool:
    return MARK in (entry.get("metadata") or {})


def _result(question: Question, entry: Wire) -> Wire:
    call = question["toolCallId"]
    payload = entry.get("payload")
    content = payload if isinstance(payload, str) else dumps(payload)
    return {"id": f"{call}-answer", "role": "tool", "toolCallId": call, "content": content}


def _commanded(props: Any, answers: list[tuple[Question, Wire]]) -> Wire:
    members = props if isinstance(props, dict) else {}
    command = members.get("command")
    command = dict(command) if isinstance(command, dict) else {}
    if command.get("resume") is not None:  # it came as front ends of 0.x send it
        return dict(members)
    command["resume"] = {question["id"]: _resumed(entry) for question, entry in answers}
    if len(answers) == 1:
        ((question, entry),) = answers
        command["resume"] = _resumed(entry)
        langgraph = question["metadata"].get("langgraph")
        raw = langgraph.get("raw") if isinstance(langgraph, dict) else None
        if raw is not None:
            event = raw if isinstance(raw, str) else dumps(raw)
            command.setdefault("interruptEvent", event)
    return {**members, "command": command}


def _resumed(entry: Wire) -> Any:
    """The graph's value; ``null`` would be no answer at all."""
    if entry["status"] != "resolved":
        return {CANCELLED: True, "interrupt_id": entry["interruptId"]}
    return True if entry.get("payload") is None else entry["payload"]
