"""The verifier: checks that each event is legal here, by the stock rules V1-V13 and two more.

A state machine over one run's events, chunks already expanded. It follows ``verifyEvents`` of
``@ag-ui/client`` 1.0.0 and is stricter where the spec is and that client is not (yet): the terminal
event's ids equal RUN_STARTED's (``ids``), interrupt ids are unique (``interrupts``), and nothing
follows a terminal event, not even a late RUN_ERROR (V3).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from agui_host.protocol.fold.open_parts import CALL, ENDS, KEYS, SPAN, TEXT, THOUGHT, OpenParts
from agui_host.protocol.part_kinds import STREAMED
from agui_host.protocol.subagent_owners import agree
from agui_host.protocol.violation import (
    ABSENT,
    Event,
    Owner,
    Violation,
    named,
    refuse_null_tags,
    tag_of,
)


class Bracket(NamedTuple):
    """One kind of part that a START opens and an END closes; ``open`` is that of the open parts."""

    name: str
    rule: str
    key: str
    end: str
    open: dict[str, Event]
    owners: dict[str, Owner]


_NAMES = {
    CALL: ("tool call", "V5"),
    TEXT: ("text message", "V4"),
    THOUGHT: ("reasoning message", "V6"),
    SPAN: ("reasoning span", "V6"),
}


class Verifier:
    """Feed it every event of one run in order; if it raises Violation, its state has not changed.

    ``parts`` are the open ones; ``calls`` maps each call to its first START, ``ended`` is the type
    of the terminal event. ``streaming`` has, for each type of delta, the ids of the open parts: a
    delta of one of them that names no owner is legal and changes nothing.
    """

    def __init__(self) -> None:
        self.ids: dict[str, str] | None = None
        self.ended: str | None = None
        self.parts = parts = OpenParts()
        self.owners = owners = parts.owners
        self.calls: dict[str, Event] = {}
        brackets = {
            start: Bracket(
                *_NAMES[start], KEYS[start], end, parts.open[start], parts.owners_of(start)
            )
            for end, start in ENDS.items()
        }
        self._starts = brackets
        self._continuations = {end: brackets[start] for end, start in ENDS.items()} | {
            kind.content: brackets[kind.start] for kind in STREAMED
        }
        self.streaming = {kind.content: parts.open[kind.start] for kind in STREAMED}
        self._others: dict[str, Callable[[Event], None]] = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "STEP_STARTED": self._step_started,
            "STEP_FINISHED": self._step_finished,
            "SUBAGENT_STARTED": self._subagent_started,
            "SUBAGENT_FINISHED": self._subagent_ended,
            "SUBAGENT_ERROR": self._subagent_ended,
            "TOOL_CALL_RESULT": parts.result,
            "MESSAGES_SNAPSHOT": self._messages_snapshot,
            "ACTIVITY_SNAPSHOT": owners.activity_snapshot,
            "ACTIVITY_DELTA": owners.activity_delta,
            "REASONING_ENCRYPTED_VALUE": owners.encrypted_value,
        }

    def feed(self, event: Event) -> None:
        """Take the next event. Raises Violation, in which case nothing has changed."""
        kind: str = event["type"]
        if self.ended is not None:
            raise Violation("V3", f"{kind}: the run has already ended.")
        if self.ids is None and kind not in ("RUN_STARTED", "RUN_ERROR"):
            raise Violation("V1", f"{kind}: a run begins with RUN_STARTED.")
        if (bracket := self._continuations.get(kind)) is not None:
            part = event[bracket.key]
            if part not in bracket.open:
                raise Violation(bracket.rule, f"{kind}: no {bracket.name} '{part}' is open.")
            if "subagentRunId" in event:
                agree(event, tag_of(event), bracket.owners, part, "V10")
            if bracket.end == kind:
                del bracket.open[part]
            return
        tag_of(event)
        if (bracket := self._starts.get(kind)) is not None:
            self._open(bracket, event)
        elif (rule := self._others.get(kind)) is not None:
            rule(event)

    def tables(self) -> list[dict[Any, Any] | set[str]]:
        """All that events change, in a fixed order, but for ``ids`` and ``ended``."""
        return [*self.parts.tables(), self.calls]

    def _open(self, bracket: Bracket, event: Event) -> None:
        kind, part = event["type"], event[bracket.key]
        if part in bracket.open:
            raise Violation(bracket.rule, f"{kind}: {bracket.name} '{part}' is already open.")
        if kind == CALL:
            self.owners.of_call(event)
            self.calls.setdefault(part, event)
        elif (owner := tag_of(event)) is not ABSENT:
            agree(event, owner, bracket.owners, part, "V10")
        self.parts.start(event)

    def _run_started(self, event: Event) -> None:
        if self.ids is not None:
            raise Violation("V2", "RUN_STARTED: the run is already open.")
        messages = (event.get("input") or {}).get("messages") or ()
        refuse_null_tags(event, messages)
        self.parts.begin(event)
        self.ids = {key: event[key] for key in ("threadId", "runId")}

    def _run_finished(self, event: Event) -> None:
        for key, value in (self.ids or {}).items():
            if event[key] != value:
                raise Violation("ids", f"RUN_FINISHED: '{key}' differs from RUN_STARTED's.")
        if starts := self.parts.starts():
            kinds = ", ".join(sorted({start["type"] for start in starts}))
            raise Violation("V8", f"RUN_FINISHED: still open: {kinds}.")
        interrupts = (event.get("outcome") or {}).get("interrupts") or ()
        refuse_null_tags(event, interrupts)
        if len({interrupt["id"] for interrupt in interrupts}) < len(interrupts):
            raise Violation("interrupts", "RUN_FINISHED: two interrupts have the same id.")
        self.ended = "RUN_FINISHED"

    def _run_error(self, event: Event) -> None:
        self.ended = "RUN_ERROR"

    def _messages_snapshot(self, event: Event) -> None:
        refuse_null_tags(event, event["messages"])
        self.parts.snapshot(event)

    def _step_started(self, event: Event) -> None:
        owner, name = event.get("subagentRunId"), event["stepName"]
        if (owner, name) in self.parts.steps:
            raise Violation("V7", f"STEP_STARTED: step '{name}' is already open.")
        self.parts.step_started(event)

    def _step_finished(self, event: Event) -> None:
        owner, name = event.get("subagentRunId"), event["stepName"]
        if (owner, name) not in self.parts.steps:
            raise Violation("V7", f"STEP_FINISHED: no step '{name}' of {named(owner)} is open.")
        self.parts.step_finished(event)

    def _subagent_started(self, event: Event) -> None:
        _need(event, "subagentRunId", "name")
        optional = ("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId")
        _refuse_nulls(event, *optional)
        subagent, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        if subagent in self.parts.subagents:
            raise Violation("V9", f"SUBAGENT_STARTED: '{subagent}' was started before.")
        if parent is not None and parent not in self.parts.subagents:
            raise Violation("V9", f"SUBAGENT_STARTED: its parent '{parent}' was never started.")
        self.parts.subagent(event)

    def _subagent_ended(self, event: Event) -> None:
        _need(event, *_ENDING_NEEDS[event["type"]])
        _refuse_nulls(event, "outcome", "code")
        subagent = event["subagentRunId"]
        if not self.parts.is_active(subagent):
            raise Violation("V9", f"{event['type']}: subagent '{subagent}' is not active.")
        # That it ended is enough here: its result can be large.
        self.parts.subagent({"type": event["type"], "subagentRunId": subagent})


_ENDING_NEEDS = {
    "SUBAGENT_FINISHED": ("subagentRunId",),
    "SUBAGENT_ERROR": ("subagentRunId", "message"),
}


def _need(event: Event, *keys: str) -> None:
    for key in keys:
        if not isinstance(event.get(key), str):
            raise Violation("V9", f"{event['type']}: '{key}' is missing.")


def _refuse_nulls(event: Event, *keys: str) -> None:
    for key in keys:
        if key in event and event[key] is None:
            raise Violation("V9", f"{event['type']}: '{key}' is null; leave it out instead.")
