"""Questions that frameworks ask without an interrupt, by rules of the agent.

| rule | what asks |
| --- | --- |
| ``on_interrupt`` | CUSTOM ``on_interrupt``: ag-ui-langgraph, CrewAI and Mastra at their defaults |
| ``adk`` | a call of ``adk_request_confirmation`` without a result |
| ``agno`` | any call without a result that is of none of the client's tools |

A run that asked so and would end as a success ends with these questions instead. ``delivery.py``
gives the answers back in the framework's way.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from agui_host.protocol.errors import BadRequest
from agui_host.protocol.questions.table import MARK, RULE
from agui_host.protocol.strict_json import loads, size_of

ON_INTERRUPT, ADK, AGNO = "on_interrupt", "adk", "agno"
RULES = (ON_INTERRUPT, ADK, AGNO)
DEFAULT = (ON_INTERRUPT,)
ADK_TOOL = "adk_request_confirmation"
MOST = 50
MOST_OPEN = 2 * MOST
"""Calls without a result whose arguments are held, so that a run holds at most some megabytes."""
LONGEST = 64 * 1024
"""Characters of a call's arguments that become part of a question."""
LARGEST = 2 * 1024 * 1024
"""Bytes of all questions of one run that came as CUSTOM: they are held, and end it in one event."""

Wire = dict[str, Any]
_TEXTS = {
    "message": ("message",),
    "toolCallId": ("toolCallId", "tool_call_id"),
    "expiresAt": ("expiresAt", "expires_at"),
}


class Asked:
    """What one run has asked so, event by event. ``reading``: calls whose arguments can follow."""

    def __init__(self, rules: Collection[str], run_id: str, tools: Iterable[Any] = ()) -> None:
        self._rules = frozenset(rules)
        self._run_id = run_id
        self._tools = {tool.get("name") for tool in tools if isinstance(tool, dict)}
        self._customs: dict[str, Wire] = {}
        self._size = 0
        self._calls: dict[str, tuple[str, str]] = {}
        self.reading: set[str] = set()

    def note(self, event: Mapping[str, Any]) -> None:
        """Take an event of the agent, as it is about to be stored."""
        match event["type"]:
            case "CUSTOM" if event["name"] == ON_INTERRUPT and ON_INTERRUPT in self._rules:
                self._ask(event)
            case "TOOL_CALL_START" if self._may_ask(event["toolCallName"]):
                self._calls[event["toolCallId"]] = event["toolCallName"], ""
                if len(self._calls) <= MOST_OPEN:
                    self.reading.add(event["toolCallId"])
            case "TOOL_CALL_ARGS" if event["toolCallId"] in self.reading:
                name, text = self._calls[event["toolCallId"]]
                text += event["delta"]
                self._calls[event["toolCallId"]] = name, text if len(text) <= LONGEST else ""
                if len(text) > LONGEST:
                    self.reading.discard(event["toolCallId"])
            case "TOOL_CALL_END":
                self.reading.discard(event["toolCallId"])
            case "TOOL_CALL_RESULT":
                self.reading.discard(event["toolCallId"])
                self._calls.pop(event["toolCallId"], None)

    def copy(self) -> "Asked":
        """The same, for a batch that can be undone."""
        twin = Asked(self._rules, self._run_id)
        twin._tools, twin._size = self._tools, self._size
        twin._customs, twin._calls = self._customs.copy(), self._calls.copy()
        twin.reading = self.reading.copy()
        return twin

    def outcome(self, event: Mapping[str, Any], pending: Sequence[str]) -> Wire | None:
        """The outcome of a RUN_FINISHED with questions; None if it keeps its own.

        ``pending``: the calls without a result.
        """
        if (event.get("outcome") or {"type": "success"})["type"] != "success":
            return None
        questions = self._customs.copy()
        waiting = [call for call in pending if call in self._calls]
        for call in waiting[: MOST - len(questions)]:
            question = _confirmation(call, *self._calls[call])
            while question["id"] in questions:
                question["id"] += "~"
            questions[question["id"]] = question
        interrupts = list(questions.values())
        return {"type": "interrupt", "interrupts": interrupts} if interrupts else None

    def _may_ask(self, name: str) -> bool:
        if name == ADK_TOOL:
            return ADK in self._rules
        return AGNO in self._rules and name not in self._tools

    def _ask(self, event: Mapping[str, Any]) -> None:
        if len(self._customs) < MOST:
            minted = f"{self._run_id}-{ON_INTERRUPT}-{len(self._customs) + 1}"
            question = _question(event, minted)
            size = size_of(question)
            if question["id"] not in self._customs and self._size + size <= LARGEST:
                self._customs[question["id"]] = question
                self._size += size


def _question(event: Mapping[str, Any], minted: str) -> Wire:
    """The interrupt that ag-ui-langgraph would have ended with, had it been told to."""
    value, raw = _parsed(event.get("value")), event.get("rawEvent")
    members = value if isinstance(value, dict) else {}
    is_whole = all(isinstance(members.get(name), str) for name in ("id", "reason"))
    named = members.get("id") if is_whole else raw.get("id") if isinstance(raw, dict) else None
    question: Wire = {"id": named if isinstance(named, str) and named else minted}
    reason = members.get("reason")
    question["reason"] = reason if isinstance(reason, str) and reason else ON_INTERRUPT
    for name, keys in _TEXTS.items():
        text = next((members[key] for key in keys if isinstance(members.get(key), str)), "")
        if text:
            question[name] = text
    schemas = (members.get(key) for key in ("responseSchema", "response_schema", "resumeSchema"))
    schema = next((each for each in map(_parsed, schemas) if isinstance(each, dict)), None)
    if schema is not None:
        question["responseSchema"] = schema
    own = members.get("metadata") if is_whole else None
    metadata = dict(own) if isinstance(own, dict) else {"langgraph": {"raw": value}}
    mark = {RULE: ON_INTERRUPT, **({"resume": True} if is_whole else {})}
    return {**question, "metadata": {**metadata, MARK: mark}}


def _confirmation(call: str, name: str, text: str) -> Wire:
    """The question of a call that waits for a confirmation."""
    arguments = _parsed(text)
    arguments = arguments if isinstance(arguments, dict) else {}
    if name != ADK_TOOL:
        mark: Wire = {RULE: AGNO, "tool": name, "arguments": arguments}
        return _about(call, f"Run {name}?", mark)
    original, request = arguments.get("originalFunctionCall"), arguments.get("toolConfirmation")
    original = original if isinstance(original, dict) else {}
    request = request if isinstance(request, dict) else {}
    tool, hint = original.get("name"), request.get("hint")
    mark = {RULE: ADK, "tool": tool if isinstance(tool, str) else "", "call": original.get("args")}
    if isinstance(request.get("payload"), dict):
        mark["arguments"] = request["payload"]
    return _about(call, hint if isinstance(hint, str) and hint else f"Run {tool}?", mark)


def _about(call: str, message: str, mark: Wire) -> Wire:
    about = {"id": call, "reason": "tool_call", "message": message, "toolCallId": call}
    return {**about, "metadata": {MARK: mark}}


def _parsed(value: Any) -> Any:
    """JSON in a text, if it is an object or a list; else the value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return loads(value.encode("utf-8", "replace"))
    except BadRequest:
        return value
