"""The verifier: checks that each event is legal here, by the stock rules V1-V13 and two more.

A state machine over one run's events, chunks already expanded. It follows ``verifyEvents`` of
``@ag-ui/client`` 1.0.0 and is stricter where the spec is and that client is not (yet): the terminal
event's ids equal RUN_STARTED's (``ids``), interrupt ids are unique (``interrupts``), and nothing
follows a terminal event, not even a late RUN_ERROR (V3).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from protocol.part_kinds import CALL, SPAN_END, SPAN_KEY, SPAN_START, TEXT, THOUGHT
from protocol.subagent_owners import Owners, agree
from protocol.violation import ABSENT, Event, Owner, Violation, named, refuse_null_tags, tag_of


class Mark(NamedTuple):
    """The open parts at one moment."""

    parts: list[dict[str, Event]]
    steps: dict[tuple[Owner, str], Event]
    subagents: dict[str, Event]


class Bracket:
    """One kind of part that a START opens and an END closes.

    ``open`` maps the id of each open part to its START, in the order they opened.
    """

    __slots__ = ("end", "key", "name", "open", "owners", "rule")

    def __init__(self, name: str, rule: str, key: str, end: str, owners: dict[str, Owner]) -> None:
        self.name, self.rule, self.key, self.end, self.owners = name, rule, key, end, owners
        self.open: dict[str, Event] = {}


class Verifier:
    """Feed it every event of one run in order; if it raises Violation, its state has not changed.

    ``steps``, ``calls``, ``subagents`` and ``ended_subagents`` map each part to its first START;
    ``ended`` is the type of the terminal event.
    """

    def __init__(self) -> None:
        self.ids: dict[str, str] | None = None
        self.ended: str | None = None
        self.owners = owners = Owners()
        self.steps: dict[tuple[Owner, str], Event] = {}
        self.subagents: dict[str, Event] = {}
        self.ended_subagents: dict[str, Event] = {}
        self.calls: dict[str, Event] = {}
        self._answered: set[str] = set()
        call = Bracket("tool call", "V5", CALL.key, CALL.end, owners.calls)
        text = Bracket("text message", "V4", TEXT.key, TEXT.end, owners.messages)
        thought = Bracket("reasoning message", "V6", THOUGHT.key, THOUGHT.end, owners.reasoning)
        span = Bracket("reasoning span", "V6", SPAN_KEY, SPAN_END, owners.reasoning)
        self.brackets = (call, text, thought, span)
        self._starts = {
            CALL.start: call,
            TEXT.start: text,
            THOUGHT.start: thought,
            SPAN_START: span,
        }
        self._continuations = {
            CALL.content: call,
            TEXT.content: text,
            THOUGHT.content: thought,
        } | {bracket.end: bracket for bracket in self.brackets}
        self._others: dict[str, Callable[[Event], None]] = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "STEP_STARTED": self._step_started,
            "STEP_FINISHED": self._step_finished,
            "SUBAGENT_STARTED": self._subagent_started,
            "SUBAGENT_FINISHED": self._subagent_ended,
            "SUBAGENT_ERROR": self._subagent_ended,
            "TOOL_CALL_RESULT": self._tool_call_result,
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

    def mark(self) -> Mark:
        """The open parts now, for ``restore``."""
        parts = [bracket.open.copy() for bracket in self.brackets]
        return Mark(parts, self.steps.copy(), self.subagents.copy())

    def restore(self, mark: Mark) -> None:
        """Reopen what was closed since ``mark``; nothing but closings can be undone."""
        for bracket, was_open in zip(self.brackets, mark.parts, strict=True):
            bracket.open = was_open
        self.steps, self.subagents = mark.steps, mark.subagents
        for subagent in mark.subagents:
            self.ended_subagents.pop(subagent, None)

    def open_parts(self) -> list[Event]:
        """The START of every open part, outermost first: a legal order in which to reopen them.

        The parent of an open subagent may have ended: see ``ended_subagents``.
        """
        parts = [*self.subagents.values(), *self.steps.values()]
        for bracket in reversed(self.brackets):
            parts += bracket.open.values()
        return parts

    def close_open_parts(self, subagent: Event | None = None) -> list[dict[str, Any]]:
        """The events that close every open part, inner first; feed them to take effect.

        ``subagent`` is the event that ends a subagent, without its id; SUBAGENT_FINISHED by
        default.
        """
        ends: list[dict[str, Any]] = []
        for bracket in self.brackets:
            for part in reversed(bracket.open):
                end = {"type": bracket.end, bracket.key: part}
                ends.append(end | _tag(bracket.owners.get(part)))
        for owner, name in reversed(self.steps):
            ends.append({"type": "STEP_FINISHED", "stepName": name} | _tag(owner))
        ending = dict(subagent or {"type": "SUBAGENT_FINISHED"})
        return ends + [ending | _tag(started) for started in reversed(self.subagents)]

    def pending_tool_calls(self) -> list[str]:
        """The calls of this run that have no result, in call order."""
        return [call for call in self.calls if call not in self._answered]

    def _open(self, bracket: Bracket, event: Event) -> None:
        kind, part = event["type"], event[bracket.key]
        if part in bracket.open:
            raise Violation(bracket.rule, f"{kind}: {bracket.name} '{part}' is already open.")
        if kind == "TOOL_CALL_START":
            owner = self.owners.of_call(event)
            self.calls.setdefault(part, event)
        elif (owner := tag_of(event)) is not ABSENT:
            agree(event, owner, bracket.owners, part, "V10")
        bracket.open[part] = event
        # A reopened id keeps its first owner; a tag that disagrees must not replace it.
        bracket.owners.setdefault(part, None if owner is ABSENT else owner)

    def _run_started(self, event: Event) -> None:
        if self.ids is not None:
            raise Violation("V2", "RUN_STARTED: the run is already open.")
        messages = (event.get("input") or {}).get("messages") or ()
        refuse_null_tags(event, messages)
        self.owners.learn(messages, overrides=False)
        self.ids = {key: event[key] for key in ("threadId", "runId")}

    def _run_finished(self, event: Event) -> None:
        for key, value in (self.ids or {}).items():
            if event[key] != value:
                raise Violation("ids", f"RUN_FINISHED: '{key}' differs from RUN_STARTED's.")
        if parts := self.open_parts():
            kinds = ", ".join(sorted({part["type"] for part in parts}))
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
        self.owners.learn(event["messages"], overrides=True)

    def _tool_call_result(self, event: Event) -> None:
        # The event creates the tool message, so the newest result owns that id.
        self.owners.messages[event["messageId"]] = event.get("subagentRunId")
        self._answered.add(event["toolCallId"])

    def _step_started(self, event: Event) -> None:
        owner, name = event.get("subagentRunId"), event["stepName"]
        if (owner, name) in self.steps:
            raise Violation("V7", f"STEP_STARTED: step '{name}' is already open.")
        self.steps[owner, name] = event

    def _step_finished(self, event: Event) -> None:
        owner, name = event.get("subagentRunId"), event["stepName"]
        if self.steps.pop((owner, name), None) is None:
            raise Violation("V7", f"STEP_FINISHED: no step '{name}' of {named(owner)} is open.")

    def _subagent_started(self, event: Event) -> None:
        _need(event, "subagentRunId", "name")
        optional = ("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId")
        _refuse_nulls(event, *optional)
        subagent, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        if subagent in self.subagents or subagent in self.ended_subagents:
            raise Violation("V9", f"SUBAGENT_STARTED: '{subagent}' was started before.")
        if not (parent is None or parent in self.subagents or parent in self.ended_subagents):
            raise Violation("V9", f"SUBAGENT_STARTED: its parent '{parent}' was never started.")
        self.subagents[subagent] = event

    def _subagent_ended(self, event: Event) -> None:
        _need(event, *_ENDING_NEEDS[event["type"]])
        _refuse_nulls(event, "outcome", "code")
        subagent = event["subagentRunId"]
        if subagent not in self.subagents:
            raise Violation("V9", f"{event['type']}: subagent '{subagent}' is not active.")
        self.ended_subagents[subagent] = self.subagents.pop(subagent)


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


def _tag(owner: Owner) -> dict[str, str]:
    return {} if owner is None else {"subagentRunId": owner}
