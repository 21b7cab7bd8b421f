"""The open parts of the current run, which a reader who joins now must open again.

They are kept as their START events. A log that passed intake is legal, so nothing is checked
here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from protocol import part_kinds
from protocol.subagent_owners import Owners
from protocol.violation import Event, Owner

TEXT, CALL, THOUGHT = part_kinds.TEXT.start, part_kinds.CALL.start, part_kinds.THOUGHT.start
SPAN = part_kinds.SPAN_START
KEYS = {SPAN: part_kinds.SPAN_KEY} | {kind.start: kind.key for kind in part_kinds.STREAMED}
"""The events that open a part, and the field with the part's id."""

ENDS = {part_kinds.SPAN_END: SPAN} | {kind.end: kind.start for kind in part_kinds.STREAMED}


class Parts:
    """The open parts of one run, its subagents, and its tool calls.

    ``open`` maps (type of START, id) to the START; ``steps`` maps (owner, name) to it.
    ``subagents`` maps each to its SUBAGENT_STARTED and, once it has ended, to its end as well:
    later subagents may name an ended one as their parent.
    """

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], Event] = {}
        self.steps: dict[tuple[Owner, str], Event] = {}
        self.subagents: dict[str, list[Event]] = {}
        self.owners = Owners()
        self._calls: dict[str, None] = {}
        self._answered: set[str] = set()

    def start(self, event: Event) -> None:
        kind = event["type"]
        part = event[KEYS[kind]]
        self.open[kind, part] = _lean(event, "rawEvent", "metadata")
        owner = event.get("subagentRunId")
        if kind == CALL:
            self._calls.setdefault(part)
            if owner is None:
                owner = self.owners.messages.get(event.get("parentMessageId", ""))
        self._owners(kind).setdefault(part, owner)

    def end(self, event: Event) -> None:
        """The END of a message, a call, a reasoning message or a span."""
        kind = ENDS[event["type"]]
        self.open.pop((kind, event[KEYS[kind]]), None)

    def owner(self, kind: str, part: str) -> Owner:
        """The owner of a part, which its START may leave out."""
        return self._owners(kind).get(part)

    def result(self, event: Event) -> None:
        self._answered.add(event["toolCallId"])
        self.owners.messages[event["messageId"]] = event.get("subagentRunId")

    def history(self, messages: Iterable[Event], *, overrides: bool) -> None:
        """Learn the owners that a MESSAGES_SNAPSHOT or an echoed input names."""
        self.owners.learn(messages, overrides=overrides)

    def step_started(self, event: Event) -> None:
        self.steps[event.get("subagentRunId"), event["stepName"]] = _lean(event, "rawEvent")

    def step_finished(self, event: Event) -> None:
        self.steps.pop((event.get("subagentRunId"), event["stepName"]), None)

    def subagent(self, event: Event) -> None:
        """SUBAGENT_STARTED, _FINISHED and _ERROR."""
        self.subagents.setdefault(event["subagentRunId"], []).append(_lean(event, "rawEvent"))

    def pending_tool_calls(self) -> list[str]:
        """The calls of this run that have no result, in call order."""
        return [call for call in self._calls if call not in self._answered]

    def dump(self) -> dict[str, Any]:
        """The open parts as JSON values, for ``load``."""
        return {
            "open": list(self.open.values()),
            "steps": list(self.steps.values()),
            "subagents": list(self.subagents.values()),
            "owners": [self.owners.messages, self.owners.calls, self.owners.reasoning],
            "calls": list(self._calls),
            "answered": sorted(self._answered),
        }

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "Parts":
        """Restore what ``dump`` wrote."""
        parts = cls()
        for start in dumped["open"]:
            parts.open[start["type"], start[KEYS[start["type"]]]] = start
        for start in dumped["steps"]:
            parts.step_started(start)
        parts.subagents = {events[0]["subagentRunId"]: events for events in dumped["subagents"]}
        owners = parts.owners
        owners.messages, owners.calls, owners.reasoning = dumped["owners"]
        parts._calls = dict.fromkeys(dumped["calls"])
        parts._answered = set(dumped["answered"])
        return parts

    def _owners(self, kind: str) -> dict[str, Owner]:
        if kind == TEXT:
            return self.owners.messages
        return self.owners.calls if kind == CALL else self.owners.reasoning


def _lean(event: Event, *without: str) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in without}
