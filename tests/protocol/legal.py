"""Hypothesis strategies for agents' event streams that AG-UI allows, and near misses.

The model here is written on its own, without a look at the verifier: the two check each other.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

THOROUGH = settings(
    deadline=None,
    database=None,
    phases=[Phase.generate],  # to shrink whole logs takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""For long searches; a test says how many examples it takes."""

Event = dict[str, Any]
Owner = str | None

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(TEXT, parts, max_size=3),
    max_leaves=6,
)
OWNERS: list[Owner] = [None, "sub-1", "sub-2"]

KINDS = {
    "text": ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId"),
    "call": ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId"),
    "thought": (
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "messageId",
    ),
    "span": ("REASONING_START", "", "REASONING_END", "messageId"),
}
CHUNKS = {
    "text": "TEXT_MESSAGE_CHUNK",
    "call": "TOOL_CALL_CHUNK",
    "thought": "REASONING_MESSAGE_CHUNK",
}
EXTRAS: dict[str, dict[str, Any]] = {
    "text": {"role": "assistant"},
    "call": {"toolCallName": "search"},
    "thought": {"role": "reasoning"},
    "span": {},
}


class Script:
    """A stream in the making: what is open, and the moves that are legal now."""

    def __init__(self, draw: Callable[..., Any], *, chunks: bool) -> None:
        self.draw = draw
        self.events: list[Event] = []
        self.open: dict[tuple[str, str], Owner] = {}
        self.closed: list[tuple[str, str, Owner]] = []
        self.steps: set[tuple[Owner, str]] = set()
        self.active: list[str] = []
        self.lanes: dict[Owner, tuple[str, str]] = {}
        self.count = 0
        self.moves: list[Callable[[], None]] = [
            self.start, self.go_on, self.end, self.reopen, self.step, self.subagent,
            self.result, self.state, self.activity, self.aside, self.snapshot,
        ]  # fmt: skip
        if chunks:
            self.moves += [self.chunk, self.chunk]

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}-{self.count}"

    def say(self, type: str, owner: Owner = None, *, tagged: bool = True, **fields: Any) -> None:
        """Write an event; with ``tagged`` its owner's tag. It ends the chunk stream of its lane."""
        tag = {"subagentRunId": owner} if tagged and owner is not None else {}
        self.lanes.pop(owner if tagged else None, None)
        self.events.append({"type": type, **fields, **tag})

    def start(self) -> None:
        kind, owner = self.pick(KINDS), self.pick(OWNERS)
        self._open(kind, self.fresh(kind), owner)

    def reopen(self) -> None:
        closed = [each for each in self.closed if each[0] != "call"]  # it may be another call
        if closed:
            kind, part, owner = self.pick(closed)
            if (kind, part) not in self.open:
                self._open(kind, part, owner)

    def _open(self, kind: str, part: str, owner: Owner) -> None:
        fields: dict[str, Any] = {KINDS[kind][3]: part, **EXTRAS[kind]}
        self.say(KINDS[kind][0], owner, **fields)
        self.open[kind, part] = owner

    def go_on(self) -> None:
        parts = [key for key in self.open if key[0] != "span"]
        if parts:
            kind, part = self.pick(parts)
            fields = {KINDS[kind][3]: part, "delta": self.draw(TEXT)}
            tagged = self.draw(st.booleans())
            self.say(KINDS[kind][1], self.open[kind, part], tagged=tagged, **fields)

    def end(self) -> None:
        if self.open:
            self._close(*self.pick(self.open))

    def _close(self, kind: str, part: str) -> None:
        owner = self.open.pop((kind, part))
        self.closed.append((kind, part, owner))
        self.say(KINDS[kind][2], owner, tagged=self.draw(st.booleans()), **{KINDS[kind][3]: part})

    def step(self) -> None:
        step = (self.pick(OWNERS), self.pick(["plan", "act"]))
        self.say(
            "STEP_FINISHED" if step in self.steps else "STEP_STARTED", step[0], stepName=step[1]
        )
        self.steps ^= {step}

    def subagent(self) -> None:
        if self.active and self.draw(st.booleans()):
            self._end_subagent(self.pick(self.active))
            return
        parent = {"parentSubagentRunId": self.pick(self.active)} if self.active else {}
        name = self.fresh("delegate")
        self.events.append(
            {"type": "SUBAGENT_STARTED", "subagentRunId": name, "name": "helper", **parent}
        )
        self.active.append(name)

    def _end_subagent(self, name: str) -> None:
        self.active.remove(name)
        if self.draw(st.booleans()):
            self.say("SUBAGENT_ERROR", name, message="It gave up.")
        else:
            self.say("SUBAGENT_FINISHED", name, outcome={"type": "success"})

    def result(self) -> None:
        calls = [part for kind, part, _ in self.closed if kind == "call"]
        if calls:
            fields = {"toolCallId": self.pick(calls), "messageId": self.fresh("result")}
            self.say("TOOL_CALL_RESULT", self.pick(OWNERS), content=self.draw(TEXT), **fields)

    def state(self) -> None:
        if self.draw(st.booleans()):
            self.say("STATE_SNAPSHOT", snapshot=self.draw(JSON))
        else:
            add = {"op": "add", "path": "/x", "value": self.draw(JSON), "note": "kept"}
            self.say("STATE_DELTA", delta=[add, {"op": "remove", "path": "/x"}])

    def activity(self) -> None:
        fields = {"messageId": self.pick(["act-1", "act-2"]), "activityType": "PLAN"}
        if self.draw(st.booleans()):
            content = self.draw(st.dictionaries(TEXT, JSON, max_size=2))
            self._aside("ACTIVITY_SNAPSHOT", content=content, **fields)
        else:
            patch = [{"op": "add", "path": "/a~1b", "value": None}]
            self._aside("ACTIVITY_DELTA", patch=patch, **fields)

    def aside(self) -> None:
        match self.pick(["custom", "raw", "secret"]):
            case "custom":
                self.say("CUSTOM", self.pick(OWNERS), name="acme.note", value=self.draw(JSON))
            case "raw":
                self._aside("RAW", event=self.draw(JSON), source="provider")
            case _:
                entity = self.pick([part for _, part, _ in self.closed] or ["unknown"])
                self._aside(
                    "REASONING_ENCRYPTED_VALUE",
                    subtype=self.pick(["message", "tool-call"]),
                    entityId=entity,
                    encryptedValue="sealed",
                )

    def _aside(self, type: str, **fields: Any) -> None:
        """An event that ends no chunk stream."""
        self.events.append({"type": type, **fields})

    def snapshot(self) -> None:
        self.lanes.clear()
        messages = [
            {"id": "user-1", "role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"id": "old-1", "role": "assistant", "content": self.draw(TEXT)},
            {"id": "old-2", "role": "reasoning", "content": "", "subagentRunId": "sub-1"},
        ]
        self.events.append({"type": "MESSAGES_SNAPSHOT", "messages": messages})

    def chunk(self) -> None:
        owner = self.pick(OWNERS)
        tag = {} if owner is None else {"subagentRunId": owner}
        if owner in self.lanes and self.draw(st.booleans()):
            kind, part = self.lanes[owner]
            named = {KINDS[kind][3]: part} if self.draw(st.booleans()) else {}
            fields = {"delta": self.draw(TEXT), **named}
        else:
            kind = self.pick(CHUNKS)
            part = self.fresh(kind)
            self.lanes[owner] = (kind, part)
            needed = {"toolCallName": "search"} if kind == "call" else {}
            fields = {KINDS[kind][3]: part, **needed}
            if self.draw(st.booleans()):
                fields["delta"] = self.draw(TEXT)
        self.events.append({"type": CHUNKS[kind], **fields, **tag})

    def close_all(self) -> None:
        for key in list(self.open):
            self._close(*key)
        for owner, name in sorted(self.steps, key=str):
            self.say("STEP_FINISHED", owner, stepName=name)
        for name in list(self.active):
            self._end_subagent(name)


@st.composite
def streams(draw: Callable[..., Any], *, chunks: bool = True, size: int = 25) -> list[Event]:
    """What a well-behaved agent emits, from no RUN_STARTED of its own to no terminal event.

    Everything is closed at the end, so any ending may follow.
    """
    script = Script(draw, chunks=chunks)
    for _ in range(draw(st.integers(0, size))):
        script.pick(script.moves)()
    script.close_all()
    return script.events


@st.composite
def damaged(draw: Callable[..., Any], *, chunks: bool = True) -> list[Event]:
    """A stream with a few events dropped, doubled, moved, retagged or ended early."""
    events: list[Event] = draw(streams(chunks=chunks).filter(bool))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(events) - 1))
        match draw(st.sampled_from(["drop", "double", "move", "retag", "end"])):
            case "drop" if len(events) > 1:
                del events[at]
            case "double":
                events.insert(at, dict(events[at]))
            case "move":
                events.insert(draw(st.integers(0, len(events) - 1)), events.pop(at))
            case "end":
                events.insert(at, {"type": "RUN_FINISHED"})
            case _ if events[at]["type"] not in ("MESSAGES_SNAPSHOT", "RUN_FINISHED"):
                owner = draw(st.sampled_from(["sub-1", "sub-3"]))
                events[at] = {**events[at], "subagentRunId": owner}
    return events
