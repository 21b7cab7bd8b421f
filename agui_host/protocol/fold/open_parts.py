"""The open parts of a run: its messages, calls, reasoning, steps and subagents.

The verifier keeps it to close parts that an agent leaves open, the fold so that a reader who joins
now can open it again. Nothing is checked here: the verifier does that first, and a log that passed
it is legal.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from agui_host.protocol import part_kinds
from agui_host.protocol.fold.inherited import own
from agui_host.protocol.subagent_owners import Owners
from agui_host.protocol.violation import Event, Owner

TEXT, CALL, THOUGHT = part_kinds.TEXT.start, part_kinds.CALL.start, part_kinds.THOUGHT.start
SPAN = part_kinds.SPAN_START
KEYS = {CALL: "toolCallId", TEXT: "messageId", THOUGHT: "messageId", SPAN: part_kinds.SPAN_KEY}
"""The events that open a part, inner ones first, and the field with the part's id."""

ENDS = {part_kinds.SPAN_END: SPAN} | {kind.end: kind.start for kind in part_kinds.STREAMED}
_END_OF = {start: end for end, start in ENDS.items()}


class Mark(NamedTuple):
    """The open parts of one moment."""

    open: dict[str, dict[str, Event]]
    steps: dict[tuple[Owner, str], Event]
    subagents: dict[str, tuple[Event, ...]]


class OpenParts:
    """The open parts of one run, its subagents, and its tool calls.

    ``open`` maps the type of each START to the open parts, id to START, in the order they opened;
    ``steps`` maps (owner, name) to it. ``subagents`` maps each to its SUBAGENT_STARTED and, once it
    has ended, to its end as well: later subagents can name an ended one as their parent.
    """

    def __init__(self) -> None:
        self.open: dict[str, dict[str, Event]] = {start: {} for start in KEYS}
        self.steps: dict[tuple[Owner, str], Event] = {}
        self.subagents: dict[str, tuple[Event, ...]] = {}
        self.owners = Owners()
        self._calls: dict[str, None] = {}
        self._answered: set[str] = set()
        self._brought: set[str] | None = None

    def start(self, event: Event) -> None:
        """The START of a message, a call, a reasoning message or a span."""
        kind = event["type"]
        part = event[KEYS[kind]]
        self.open[kind][part] = _lean(event, "rawEvent", "metadata")
        owner = event.get("subagentRunId")
        if kind == CALL:
            self._calls.setdefault(part)
            if owner is None:
                owner = self.owners.messages.get(event.get("parentMessageId", ""))
        # A reopened id keeps its first owner.
        self.owners_of(kind).setdefault(part, owner)

    def end(self, event: Event) -> None:
        """The END of a message, a call, a reasoning message or a span."""
        kind = ENDS[event["type"]]
        self.open[kind].pop(event[KEYS[kind]], None)

    def begin(self, event: Event) -> None:
        """RUN_STARTED: the messages that it brings are not the run's own."""
        body = event.get("input")
        messages = (body or {}).get("messages") or ()
        self.owners.learn(messages, overrides=False)
        self._brought = None if body is None else {message["id"] for message in messages}

    def snapshot(self, event: Event) -> None:
        """MESSAGES_SNAPSHOT: parts that it leaves out are gone; it can have calls and results."""
        messages = event["messages"]
        self.owners.learn(messages, overrides=True)
        calls = {call["id"] for message in messages for call in message.get("toolCalls") or ()}
        stays = calls.union(self.open[CALL])
        self._calls = {call: None for call in self._calls if call in stays}
        for message in own(event, self._brought):
            self._calls |= dict.fromkeys(call["id"] for call in message.get("toolCalls") or ())
        self._answered |= {each["toolCallId"] for each in messages if each["role"] == "tool"}

    def result(self, event: Event) -> None:
        """TOOL_CALL_RESULT: it creates the tool message, so the newest one owns that id."""
        self._answered.add(event["toolCallId"])
        self.owners.messages[event["messageId"]] = event.get("subagentRunId")

    def step_started(self, event: Event) -> None:
        """STEP_STARTED; each owner has its own steps."""
        self.steps[event.get("subagentRunId"), event["stepName"]] = _lean(event, "rawEvent")

    def step_finished(self, event: Event) -> None:
        """STEP_FINISHED; ignored if the step is not open."""
        self.steps.pop((event.get("subagentRunId"), event["stepName"]), None)

    def subagent(self, event: Event) -> None:
        """SUBAGENT_STARTED, _FINISHED and _ERROR."""
        known = self.subagents.get(event["subagentRunId"], ())
        self.subagents[event["subagentRunId"]] = (*known, _lean(event, "rawEvent"))

    def is_active(self, subagent: str) -> bool:
        """Whether a subagent has started and not ended."""
        return len(self.subagents.get(subagent, ())) == 1

    def ids(self) -> list[tuple[str, str]]:
        """(type of START, id) of each open part, outer ones first."""
        return [(kind, part) for kind in reversed(self.open) for part in self.open[kind]]

    def starts(self) -> list[Event]:
        """The START of all that is open, outer ones first: a legal order in which to reopen them.

        The parent of an open subagent can have ended.
        """
        active = [events[0] for name, events in self.subagents.items() if self.is_active(name)]
        parts = [self.open[kind][part] for kind, part in self.ids()]
        return [*active, *self.steps.values(), *parts]

    def closings(self, subagent: Event | None = None) -> list[dict[str, Any]]:
        """The events that close all that is open, inner ones first; nothing is closed by this.

        ``subagent`` is the event that ends a subagent, without its id; SUBAGENT_FINISHED by
        default.
        """
        ends: list[dict[str, Any]] = [
            {"type": _END_OF[kind], KEYS[kind]: part} | _tag(self.owner(kind, part))
            for kind, part in reversed(self.ids())
        ]
        ends += [
            {"type": "STEP_FINISHED", "stepName": name} | _tag(owner)
            for owner, name in reversed(self.steps)
        ]
        ending = dict(subagent or {"type": "SUBAGENT_FINISHED"})
        active = filter(self.is_active, reversed(self.subagents))
        return ends + [ending | _tag(name) for name in active]

    def mark(self) -> Mark:
        """The open parts of now, for ``restore``."""
        parts = {kind: parts.copy() for kind, parts in self.open.items()}
        return Mark(parts, self.steps.copy(), self.subagents.copy())

    def restore(self, mark: Mark) -> None:
        """Reopen parts that were closed since ``mark``; nothing but closings can be undone."""
        for kind, parts in mark.open.items():
            # In place: the verifier's brackets refer to these.
            self.open[kind].clear()
            self.open[kind].update(parts)
        self.steps, self.subagents = mark.steps, mark.subagents

    def tables(self) -> list[dict[Any, Any] | set[str]]:
        """All that events change, in a fixed order."""
        owners = self.owners
        known = [owners.messages, owners.calls, owners.reasoning, owners.activities]
        return [
            *self.open.values(),
            self.steps,
            self.subagents,
            *known,
            self._calls,
            self._answered,
            self._brought or set(),
        ]

    def owner(self, kind: str, part: str) -> Owner:
        """The owner of a part, which its START can leave out."""
        return self.owners_of(kind).get(part)

    def owners_of(self, kind: str) -> dict[str, Owner]:
        """The owners of all parts of a kind, by id."""
        if kind == TEXT:
            return self.owners.messages
        return self.owners.calls if kind == CALL else self.owners.reasoning

    def pending_tool_calls(self) -> list[str]:
        """The calls of this run that have no result, in call order."""
        return [call for call in self._calls if call not in self._answered]

    def dump(self) -> dict[str, Any]:
        """The open parts as JSON values, for ``load``."""
        return {
            "open": [self.open[kind][part] for kind, part in self.ids()],
            "steps": list(self.steps.values()),
            "subagents": list(self.subagents.values()),
            "owners": [self.owners.messages, self.owners.calls, self.owners.reasoning],
            "calls": list(self._calls),
            "answered": sorted(self._answered),
            "brought": None if self._brought is None else sorted(self._brought),
        }

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "OpenParts":
        """Restore what ``dump`` wrote."""
        parts = cls()
        for start in dumped["open"]:
            parts.open[start["type"]][start[KEYS[start["type"]]]] = start
        for start in dumped["steps"]:
            parts.step_started(start)
        parts.subagents = {
            events[0]["subagentRunId"]: tuple(events) for events in dumped["subagents"]
        }
        owners = parts.owners
        owners.messages, owners.calls, owners.reasoning = dumped["owners"]
        parts._calls = dict.fromkeys(dumped["calls"])
        parts._answered = set(dumped["answered"])
        if (brought := dumped.get("brought")) is not None:
            parts._brought = set(brought)
        return parts


def _lean(event: Event, *without: str) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in without}


def _tag(owner: Owner) -> dict[str, str]:
    return {} if owner is None else {"subagentRunId": owner}
