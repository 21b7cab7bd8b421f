"""Whole answers as agents stream them: interleaved, nested, in chunks, with ids that meet.

The moves are those of ``legal.py``. Intake makes the log of what an agent sends, as in a run.
"""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.violation import Violation
from tests.dialects.folds.forms import RUN, SECRET, TOOLS, USER, Event, folded, snapshot
from tests.protocol.legal import Owner, Script

PARTS = ("TEXT_MESSAGE_", "REASONING_", "TOOL_CALL_", "ACTIVITY_")
"""The events that a snapshot of the messages can stand for."""
WORDS = st.sampled_from(["sun ", "rain\n", "{}", '{"q": 1}', "ü🌦", " "])


class Conversation(Script):
    """An answer in the making; each of its texts has a word that no other has."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        super().__init__(draw, chunks=True)
        self.named: set[tuple[str, str]] = set()
        self.in_chunk = False  # An id of two subagents ends the run; chunks have new ones here.
        without = {self.reopen, self.snapshot}  # A stream cannot go back to an earlier text.
        self.moves = [move for move in self.moves if move not in without]
        self.moves += [self.start, self.call, *[self.call_again] * 4]

    def fresh(self, prefix: str) -> str:
        """A new id, or one that something else has: of the user's message, or none at all."""
        new = super().fresh(prefix)
        parts = [each[:2] for each in (*self.open, *self.closed)]
        # A call without a message makes one of its id, so a text must not have it later.
        taken = [part for kind, part in parts if kind != "call" or prefix == "call"]
        name = str(self.draw(st.sampled_from([new] * 6 + ["u", "", *taken[-2:]])))
        if self.in_chunk or (prefix != "call" and name and (prefix, name) in self.named):
            return new
        self.named.add((prefix, name))
        return name

    def word(self) -> str:
        return f"{super().fresh('w')}{self.draw(WORDS)}"

    def _open(self, kind: str, part: str, owner: Owner) -> None:
        owners = [(each, who) for (_, each), who in self.open.items()]
        owners += [(each, who) for _, each, who in self.closed]
        is_others = any(each == part and who != owner for each, who in owners)
        if (kind, part) in self.open or kind == "span" or is_others:
            return
        super()._open(kind, part, owner)
        if kind != "call":
            self.go_on_with(kind, part)

    def go_on(self) -> None:
        if self.open:
            self.go_on_with(*self.pick(self.open))

    def go_on_with(self, kind: str, part: str) -> None:
        piece, key = ("ARGS", "toolCallId") if kind == "call" else ("CONTENT", "messageId")
        name = {"text": "TEXT_MESSAGE", "call": "TOOL_CALL", "thought": "REASONING_MESSAGE"}[kind]
        fields = {key: part, "delta": self.word()}
        tagged = self.draw(st.booleans())
        self.say(f"{name}_{piece}", self.open[kind, part], tagged=tagged, **fields)

    def call(self) -> None:
        """A call of a text that may still be open."""
        parents = [(part, owner) for (kind, part), owner in self.open.items() if kind == "text"]
        parents += [(part, owner) for kind, part, owner in self.closed if kind == "text"]
        key, name = self.fresh("call"), self.pick(["ask", "look"])
        if parents and ("call", key) not in self.open:
            parent, owner = self.pick(parents)
            fields = {"toolCallName": name, "parentMessageId": parent}
            self.say("TOOL_CALL_START", owner, toolCallId=key, **fields)
            self.open["call", key] = owner

    def call_again(self) -> None:
        """Begin a call again that has ended, in the middle of its arguments or without any."""
        ended = [(part, owner) for kind, part, owner in self.closed if kind == "call"]
        if ended:
            part, owner = self.pick(ended)
            begun = next(each for each in self.events if each.get("toolCallId") == part)
            if ("call", part) not in self.open:
                name = begun["toolCallName"]
                self.say("TOOL_CALL_START", owner, toolCallId=part, toolCallName=name)
                self.open["call", part] = owner

    def result(self) -> None:
        """One for each call: of several the readers that know one have the last."""
        closed, whole = self.closed, [each for each in self.events if "content" in each]
        answered = {each.get("toolCallId") for each in whole}
        ended = [each for each in closed if each[:2] not in self.open]
        self.closed = [each for each in ended if each[1] not in answered]
        super().result()
        self.closed = closed

    def activity(self) -> None:
        fields = {"messageId": self.pick(["act-1", "act-2"]), "activityType": "PLAN"}
        known = {each.get("messageId") for each in self.events if "activityType" in each}
        if fields["messageId"] in known and self.draw(st.booleans()):
            patch = [{"op": "add", "path": "/more", "value": self.word()}]
            self._aside("ACTIVITY_DELTA", patch=patch, **fields)
        else:
            self._aside("ACTIVITY_SNAPSHOT", content={"plan": self.word()}, **fields)

    def chunk(self) -> None:
        self.in_chunk = True
        super().chunk()
        self.in_chunk = False
        last = self.events[-1]
        if last.get("delta") == "" or "delta" not in last:
            last["delta"] = self.word()


@st.composite
def conversations(draw: Callable[..., Any], *, size: int = 16) -> list[Event]:
    """The log of an answer, from RUN_STARTED to RUN_FINISHED."""
    script = Conversation(draw)
    for _ in range(draw(st.integers(1, size))):
        script.pick(script.moves)()
    script.close_all()
    try:
        return stored(script.events)
    except Violation:  # An id of two subagents: such a run fails.
        reject()


def stored(events: list[Event]) -> list[Event]:
    """The log that intake makes of an agent's events."""
    body = {**RUN, "messages": [USER], "tools": TOOLS}
    intake = Intake(RUN["threadId"], RUN["runId"], input=body, history=[USER], clock=lambda: 1.0)
    records = [record for event in events for record in intake.accept(dict(event))]
    records += intake.finish()
    return [json.loads(record.payload) for record in records]


def retold(log: list[Event]) -> list[Event]:
    """The same answer with its messages in one snapshot, after all that is no message."""
    others = [event for event in log[1:-1] if not event["type"].startswith(PARTS)]
    return [log[0], *others, snapshot_of(log), log[-1]]


def snapshot_of(log: list[Event]) -> Event:
    """The snapshot of a log's messages."""
    return {**snapshot(folded(log).messages[1:]), "timestamp": log[-1]["timestamp"]}


def mistaken(log: list[Event], draw: Callable[..., Any]) -> Event:
    """A snapshot of a log's messages, some of which it changes or leaves out."""
    messages = []
    for message in snapshot_of(log)["messages"][1:]:
        match draw(st.sampled_from(["same", "changed", "longer", "gone"])):
            case "same":
                messages.append(message)
            case "longer" if isinstance(message.get("content"), str):
                messages.append({**message, "content": f"{message['content']} {SECRET}"})
            case "changed" if isinstance(message.get("content"), str):
                messages.append({**message, "content": f"{SECRET} {message['content']}"})
    return {**snapshot(messages), "timestamp": log[-1]["timestamp"]}


def settled(name: str, answer: Any) -> Any:
    """An answer without the order that only a stream has: of calls and data among texts, of rows.

    Of state the outline has a row for each stretch of events without a message. A part that a
    snapshot left out, and the next one has again, comes last in a text that is one for all. A call
    that is begun again ends twice.
    """
    if name == "Chat Completions":
        answer["choices"] = sorted(repr(answer["choices"]))
    if name == "outline":
        answer = [_row(row) for row in answer if row["kind"] != "state"]
    return _unordered(_joined(answer) if name == "Alpine" else answer)


def _row(row: Event) -> Event:
    """A row of the outline; that of an activity says what its newest snapshot did, and no delta."""
    return {**row, "gist": row["gist"].split()[:1]} if row["kind"] == "activity" else row


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unordered(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return sorted((_unordered(each) for each in value), key=repr)
    return value


def _joined(frames: list[Event]) -> list[Event]:
    """The pieces of each text as one frame; a call without arguments can have an empty piece."""
    joined: dict[str, Event] = {}
    for number, frame in enumerate(frames):
        place = json.dumps({**frame, "content": ""}, sort_keys=True)
        if frame["type"] == "tool_call_end":
            joined[place] = frame
        elif frame.get("delta") is not True:
            joined[f"{place} {number}"] = frame
        elif place in joined:
            joined[place]["content"] += frame["content"]
        elif frame["content"]:
            joined[place] = dict(frame)
    return list(joined.values())
