"""The table of frameworks: which approval a question is, and the answer that its agent expects."""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.questions import human_interrupt, langchain
from agui_host.protocol.questions.approval import Action, Approval, Schema
from agui_host.protocol.questions.confirmations import Adk, Agno, Words
from agui_host.protocol.questions.decision import decision_of, plain_decision
from agui_host.protocol.questions.members import Members, listed
from agui_host.protocol.questions.parts import Part, choice_of, is_verb, parts_of
from agui_host.protocol.questions.variants import DISCRIMINATORS, variants_of
from agui_host.protocol.questions.words import (
    APPROVE,
    REJECT,
    Values,
    is_boolean_or_text,
    is_no,
    values_of,
)

MARK = "agui-host"
"""The member of a question's metadata in which the host notes the rule that made the question."""
RULE = "rule"
DECIDING = (
    "decision", "verdict", "approval", "approved", "answer", "action", "choice", "response",
    "result", "outcome", "confirmed", "accepted",
)  # fmt: skip
"""Names of members that decide, of which no other need be required."""
Wire = dict[str, Any]
Question = Mapping[str, Any]


LANGGRAPH = (langchain.HumanInTheLoop, human_interrupt.HumanInterrupt)


def approval_of(question: Question) -> Approval | None:
    """The approval that a question asks for; None if it asks for something else."""
    metadata = question.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    langgraph, schema = metadata.get("langgraph"), question.get("responseSchema")
    if isinstance(langgraph, dict):
        raw = langgraph.get("raw")
        if known := langchain.approval_of(raw) or human_interrupt.approval_of(raw):
            return known
    if (rule := rule_of(question)) in CONFIRMED:
        return CONFIRMED[rule](_called(metadata[MARK], is_editable=rule == "adk"))
    return _by_schema(schema) if isinstance(schema, dict) else None


CONFIRMED = {"adk": Adk, "agno": Agno}


def rule_of(question: Question) -> str:
    """The name of the rule that made the question; empty if the agent asked it itself."""
    metadata = question.get("metadata")
    mark = metadata.get(MARK) if isinstance(metadata, dict) else None
    rule = mark.get(RULE) if isinstance(mark, dict) else None
    return rule if isinstance(rule, str) else ""


def action_of(question: Question) -> tuple[str, Wire] | None:
    """The name and arguments of the action that a framework asks about; None without a name."""
    approval = approval_of(question)
    actions = () if approval is None else approval.actions
    if not actions or not actions[0].name:
        return None
    if len(actions) == 1:
        return actions[0].name, actions[0].arguments or {}
    listed = [{"name": each.name, "arguments": each.arguments or {}} for each in actions]
    return " + ".join(each.name for each in actions[:5]), {"actions": listed}


def native_schema(question: Question) -> Schema | None:
    """The schema of the payload that the agent reads; None if any will do."""
    approval = approval_of(question)
    schema = question.get("responseSchema") if approval is None else approval.schema
    return schema if isinstance(schema, dict) else None


def response_schema(question: Question) -> Schema | None:
    """The schema of all answers that the host takes; None if any will do."""
    approval = approval_of(question)
    schema = question.get("responseSchema") if approval is None else approval.response_schema
    return schema if isinstance(schema, dict) else None


def fitted(question: Question, entry: Wire) -> Wire:
    """The entry of a ``resume`` with the payload that the agent reads.

    A decision (``{"approved", "reason"?, "arguments"?}``) becomes the framework's own payload, a
    yes or no of a framework's approval as well; any other payload stays. Raises Undecidable.
    """
    payload = entry.get("payload")
    if entry["status"] != "resolved" or not isinstance(payload, dict | bool | str):
        return entry
    metadata = entry.get("metadata")
    reason = metadata.get("reason") if isinstance(metadata, dict) else None
    decision = decision_of(payload, reason)
    if decision is None and isinstance(payload, dict):
        return entry
    approval = approval_of(question)
    if approval is None:
        is_open = decision is not None and "responseSchema" not in question
        return entry | {"payload": decision.wire} if decision and is_open else entry
    if isinstance(approval, Members) and isinstance(payload, dict) and approval.is_own(payload):
        return entry
    if decision is None and not isinstance(approval, Members):
        decision = plain_decision(payload, reason)
    if decision is None:
        return entry
    more = {"reason": decision.reason} if decision.reason else {}
    if more:
        entry = entry | {"metadata": {**(metadata or {}), **more}}
    return entry | {"payload": approval.payload_for_all(decision)}


def remedy(question: Question, entry: Wire) -> str:
    """The payload in place of a decision that the question does not understand; else empty."""
    if decision_of(entry.get("payload")) is None or approval_of(question) is not None:
        return ""
    parts = parts_of(question.get("responseSchema"))
    choice = choice_of(parts)
    options = listed(choice) if choice else ""
    return f"This question has no yes and no{options}. Send a payload that its schema describes."


def verdict(entry: Mapping[str, Any]) -> bool:
    """Whether an answer is a yes, whatever the framework's payload is; for screens."""
    payload = entry.get("payload")
    if entry["status"] != "resolved":
        return False
    if isinstance(payload, list):
        return not _refuses(payload)
    if not isinstance(payload, dict):
        return not is_no(payload)
    if isinstance(payload.get("decisions"), list):
        return not _refuses(payload["decisions"])
    marks = [payload[name] for name in (*DECIDING, *DISCRIMINATORS) if name in payload]
    return not any(map(is_no, marks))


def _refuses(decisions: list[Any]) -> bool:
    """Whether one of the decisions in LangChain's or LangGraph's form is a no."""
    kinds = [each.get("type") for each in decisions if isinstance(each, dict)]
    return any(kind in ("reject", "respond", "response", "ignore") for kind in kinds)


def reason_of(entry: Mapping[str, Any]) -> str:
    """The reason that came with an answer; empty without one."""
    metadata = entry.get("metadata")
    reason = metadata.get("reason") if isinstance(metadata, dict) else None
    return reason if isinstance(reason, str) else ""


def dismissed(question: Question) -> Any:
    """The payload for a framework's dismissal; None for a framework with ``cancelled``.

    Raises Undecidable.
    """
    approval = approval_of(question)
    is_foreign = isinstance(approval, LANGGRAPH) or rule_of(question) in CONFIRMED
    return approval.refusal() if approval is not None and is_foreign else None


def _called(mark: Wire, *, is_editable: bool) -> Action:
    arguments = mark.get("arguments")
    return Action(
        name=str(mark.get("tool", "")),
        arguments=arguments if isinstance(arguments, dict) else None,
        editable=is_editable,
    )


def _by_schema(schema: Schema) -> Approval | None:
    parts = parts_of(schema)
    if parts[0].name is None:
        if parts[0].kind != "enum" and is_boolean_or_text(parts[0].schema):
            return Words([Action()], schema)
        if variants := variants_of(schema):
            return variants
    decided = _decided(parts)
    return Members(schema, parts, *decided) if decided else None


def _decided(parts: list[Part]) -> tuple[Part, Values] | None:
    """The part that decides, and its values for a yes and a no."""
    choice = choice_of(parts)
    if choice is not None:
        values = values_of(choice)
        return (choice, values) if APPROVE in values else None
    named = [(part, values_of(part)) for part in parts if _decides(part)]
    sure = [(part, values) for part, values in named if {APPROVE, REJECT} <= values.keys()]
    return sure[0] if len(sure) == 1 else None


def _decides(part: Part) -> bool:
    """Whether by its name a member decides; a payload that is one value always does."""
    return part.name is None or part.name.lower() in DECIDING or is_verb(part.name)
