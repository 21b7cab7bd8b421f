"""Interrupts as MCP's forms, and a filled form as the payload of an answer.

A form is an object whose members are texts, numbers, flags or choices. A question with any other
schema is asked as far as a form can; the host checks the answer against the whole schema.
"""

from typing import Any

from agui_host.protocol.questions import table
from agui_host.protocol.questions.members import Members
from agui_host.protocol.wire.fold import Event, Frame

PRIMITIVES = ("string", "number", "integer", "boolean")
KNOWN = (
    "type", "title", "description", "default", "enum", "enumNames", "oneOf", "format", "minLength",
    "maxLength", "minimum", "maximum", "items", "minItems", "maxItems",
)  # fmt: skip
APPROVAL: Frame = {
    "type": "object",
    "properties": {"approved": {"type": "boolean", "title": "Approve"}},
    "required": ["approved"],
}
"""The form of a question without a schema."""
REASON = {"type": "string", "title": "Reason", "description": "For a rejection."}
REASONED = {**APPROVAL, "properties": {**APPROVAL["properties"], "reason": REASON}}
"""The form of an approval that a framework asks for."""
WRAPPED = "answer"
"""The member of a form that contains an answer that is not an object."""


def elicitation(question: Event) -> Frame:
    """A question as an ``elicitation/create``."""
    form = {
        "mode": "form",
        "message": question.get("message") or question["reason"],
        "requestedSchema": _form(question),
    }
    return {"method": "elicitation/create", "params": form}


def _form(question: Event) -> Frame:
    """Of a framework's approval the form of a decision, of others that of their schema."""
    return REASONED if _is_decided(question) else form_of(question.get("responseSchema"))


def _is_decided(question: Event) -> bool:
    """Whether the form asks for a decision: of an approval whose own members no form can ask."""
    approval = table.approval_of(question)
    if not isinstance(approval, Members):
        return approval is not None
    schema = question["responseSchema"]
    if not _is_object(schema):
        return _member(schema) is None
    return approval.deciding not in form_of(schema)["properties"]


def form_of(schema: Any) -> Frame:
    """The form for a ``responseSchema``."""
    if not isinstance(schema, dict):
        return APPROVAL
    if not _is_object(schema):
        single = _member(schema) or {"type": "string"}
        return {"type": "object", "properties": {WRAPPED: single}, "required": [WRAPPED]}
    members = {
        name: member for name, each in schema["properties"].items() if (member := _member(each))
    }
    required = [name for name in schema.get("required") or () if name in members]
    return {"type": "object", "properties": members, "required": required}


def answer(question: Event, response: Any) -> Frame:
    """One entry of a ``resume``: the filled form, or a dismissal."""
    accepted = isinstance(response, dict) and response.get("action") == "accept"
    if not accepted:
        return {"interruptId": question["id"], "status": "cancelled"}
    content = response.get("content") or {}
    schema = None if _is_decided(question) else question.get("responseSchema")
    if isinstance(schema, dict) and not _is_object(schema) and isinstance(content, dict):
        content = content.get(WRAPPED)
    return {"interruptId": question["id"], "status": "resolved", "payload": content}


def _is_object(schema: Frame) -> bool:
    return schema.get("type") == "object" and isinstance(schema.get("properties"), dict)


def _member(schema: Any) -> Frame | None:
    """A member of a form; None if no form can ask it."""
    if not isinstance(schema, dict):
        return None
    kind, items = schema.get("type"), schema.get("items")
    options = schema.get("enum")
    if kind is None and isinstance(options, list) and all(isinstance(o, str) for o in options):
        schema, kind = {**schema, "type": "string"}, "string"
    choices = kind == "array" and isinstance(items, dict) and bool({"enum", "anyOf"} & items.keys())
    if kind not in PRIMITIVES and not choices:
        return None
    return {name: schema[name] for name in KNOWN if name in schema}
