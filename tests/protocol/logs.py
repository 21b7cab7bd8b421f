"""Hypothesis strategies for whole logs: several runs with every ending, rich in what joining needs.

Built on the streams of ``legal.py``. Message ids are unique and keep one owner, as the spec wants;
everything else that a stock client lets pass may occur.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake.chunks import Chunks
from tests.protocol.legal import EXTRAS, JSON, KINDS, OWNERS, TEXT, Event, Owner, Script

LANES: list[Owner] = [*OWNERS, "sub-3"]
METADATA = st.dictionaries(st.sampled_from(["a", "b", "ag-ui"]), JSON, min_size=1, max_size=2)
STATES = st.dictionaries(st.sampled_from(["x", "list"]), JSON | st.lists(JSON, max_size=2))
ROOTS = STATES | JSON.filter(lambda value: value not in (False, 0, ""))
"""The client's patch library does odd things to these three; no patch of them passes intake."""
PATHS = st.sampled_from(["", "/x", "/list", "/list/0", "/list/-", "/x/y", "/a~1b", "/missing/x"])
SECRETS = ["message", "tool-call"]
ENDINGS = ["plain", "success", "interrupt", "cancelled", "error"]


class Log(Script):
    """A thread in the making: more of everything, and more than one run."""

    def __init__(self, draw: Callable[..., Any], *, chunks: bool = True) -> None:
        super().__init__(draw, chunks=chunks)
        self.activities: dict[str, Owner] = {}
        self.ended: list[str] = []
        self.homes: dict[str, str] = {}
        self.spoken: set[str] = set()
        self.run = 0
        self.moves += [self.start, self.go_on, self.go_on, self.call_in_message, self.subagent]

    def some(self, share: int = 3) -> bool:
        """True once in ``share`` times, roughly."""
        return bool(self.draw(st.integers(1, share)) == share)

    def lane(self) -> Owner:
        return self.pick([*LANES, *self.active])

    def say(self, type: str, owner: Owner = None, *, tagged: bool = True, **fields: Any) -> None:
        if type not in ("RUN_STARTED", "MESSAGES_SNAPSHOT") and self.some(4):
            fields["metadata"] = self.draw(METADATA)
        super().say(type, owner, tagged=tagged, **fields)

    def begin(self) -> None:
        """RUN_STARTED, with or without the input it echoes."""
        self.run += 1
        event: Event = {"type": "RUN_STARTED", "threadId": "thread", "runId": f"run-{self.run}"}
        if self.some(2):
            event["protocolVersion"] = "1.0"
        if self.some(2):
            earlier = self.messages_so_far()
            messages = [{"id": self.fresh("user"), "role": "user", "content": self.draw(TEXT)}]
            messages += [earlier[-1]] if earlier and earlier[-1]["role"] != "activity" else []
            ids = {key: event[key] for key in ("threadId", "runId")}
            event["input"] = {**ids, "messages": messages}
            if self.run == 1 and self.some(2):
                event["input"]["state"] = self.draw(STATES)
        self.events.append(event)

    def finish(self) -> None:
        """A terminal event of any kind. An error may cut everything short."""
        ending, ids = self.pick(ENDINGS), {"threadId": "thread", "runId": f"run-{self.run}"}
        self.lanes.clear()
        if ending == "error":
            self.events.append({"type": "RUN_ERROR", "message": "It broke."})
            self.closed += [(*key, owner) for key, owner in self.open.items()]
        else:
            self.close_all()
            self.lanes.clear()
            asks = [{"id": self.fresh("ask"), "reason": "confirmation"}]
            outcome: Event = {
                "success": {"type": "success", "pendingToolCallIds": ["call-1"]},
                "interrupt": {"type": "interrupt", "interrupts": asks},
                "cancelled": {"type": "cancelled"},
            }.get(ending, {})
            fields = {"outcome": outcome} if outcome else {"result": self.draw(JSON)}
            self.events.append({"type": "RUN_FINISHED", **ids, **fields})
        self.open, self.steps, self.active, self.ended = {}, set(), [], []

    def messages_so_far(self) -> list[Event]:
        """The messages so far."""
        fold = Fold()
        for event in expanded(self.events):
            fold.feed(event)
        return fold.messages

    def start(self) -> None:
        kind, owner = self.pick(KINDS), self.lane()
        part, fields = self.fresh(kind), dict(EXTRAS[kind])
        if kind == "text" and self.some():
            fields = {"role": self.pick(["user", "system", "developer"]), "name": "Ann"}
            self.spoken.add(part)
        if kind == "call" and self.some():
            fields["parentMessageId"] = self.fresh("parent")
        if kind == "thought" and self.some(2):
            spans = [(name, who) for (kind, name), who in self.open.items() if kind == "span"]
            part, owner = self.pick(spans) if spans else (part, owner)
            if (kind, part) in self.open:
                return
        self._open(kind, part, owner, **fields)

    def _open(self, kind: str, part: str, owner: Owner, **fields: Any) -> None:
        key = {KINDS[kind][3]: part}
        if kind == "call":
            # Without it, a call whose message was dropped gets another one of the same id.
            if part in self.homes:
                fields["parentMessageId"] = self.homes[part]
            parent = fields.get("parentMessageId", part)
            self.homes[part] = part if parent in self.spoken else parent
        self.say(KINDS[kind][0], owner, **{**key, **EXTRAS[kind], **fields})
        self.open[kind, part] = owner

    def call_in_message(self) -> None:
        """A call that joins a message of the same owner: streamed before, or another call's own."""
        known = [(part, owner) for (kind, part), owner in self.open.items()]
        known += [(part, owner) for kind, part, owner in self.closed if kind != "span"]
        parts = [item for item in known if item[0].split("-")[0] in ("text", "call")]
        if parts:
            parent, owner = self.pick(parts)
            self._open("call", self.fresh("call"), owner, parentMessageId=parent)

    def step(self) -> None:
        step = (self.lane(), self.pick(["plan", "act"]))
        self.say(
            "STEP_FINISHED" if step in self.steps else "STEP_STARTED", step[0], stepName=step[1]
        )
        self.steps ^= {step}

    def subagent(self) -> None:
        if self.active and self.some(2):
            self._end_subagent(self.pick(self.active))
            return
        known = [*self.active, *self.ended]
        parent = {"parentSubagentRunId": self.pick(known)} if known else {}
        name = self.fresh("delegate")
        fields = {"subagentRunId": name, "name": "helper", **parent}
        self.events.append({"type": "SUBAGENT_STARTED", **fields})
        self.active.append(name)

    def _end_subagent(self, name: str) -> None:
        super()._end_subagent(name)
        self.ended.append(name)

    def result(self) -> None:
        calls = [part for kind, part, _ in self.closed if kind == "call"]
        calls += [part for kind, part in self.open if kind == "call"]
        content = self.draw(TEXT | st.just([{"type": "text", "text": "part"}]))
        fields = {"toolCallId": self.pick([*calls, "unknown"]), "messageId": self.fresh("result")}
        self.say("TOOL_CALL_RESULT", self.lane(), content=content, **fields)

    def state(self) -> None:
        if self.some():
            self.say("STATE_SNAPSHOT", self.lane(), snapshot=self.draw(ROOTS))
        else:
            self.say("STATE_DELTA", self.lane(), delta=self.patch())

    def patch(self) -> list[Event]:
        """Operations of every kind; some of them do not apply."""
        operations = []
        for op in self.draw(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=3)):
            operation = {"op": op, "path": self.draw(PATHS)}
            if op in ("add", "replace", "test"):
                operation["value"] = self.draw(STATES if not operation["path"] else JSON)
            if op in ("move", "copy"):
                operation["from"] = self.draw(PATHS.filter(bool))
            if operation["path"] or "value" in operation:
                operations.append(operation)
        return operations

    def activity(self) -> None:
        name = self.pick(["act-1", "act-2", "act-3"])
        fields: Event = {"messageId": name, "activityType": self.pick(["PLAN", "SEARCH"])}
        owner = self.activities.get(name)
        if name in self.activities and self.some(2):
            tag = {"subagentRunId": owner} if owner is not None and self.some(2) else {}
            patch = [one for one in self.patch() if one["path"] or one["op"] in ("add", "replace")]
            self._aside("ACTIVITY_DELTA", patch=patch, **fields, **tag)
        else:
            if name in self.activities and self.some():
                fields["replace"] = False
            else:
                owner = self.activities[name] = self.lane()
            tag = {} if owner is None else {"subagentRunId": owner}
            self._aside("ACTIVITY_SNAPSHOT", content=self.draw(STATES), **fields, **tag)

    def aside(self) -> None:
        if self.some(2):
            super().aside()
            return
        known = [(part, owner) for (_, part), owner in self.open.items()]
        known += [(part, owner) for _, part, owner in self.closed]
        entity, subtype = self.pick([*known, ("unknown", None)])[0], self.pick(SECRETS)
        fields = {"subtype": subtype, "entityId": entity, "encryptedValue": self.fresh("sealed")}
        self._aside("REASONING_ENCRYPTED_VALUE", **fields)

    def _aside(self, type: str, **fields: Any) -> None:
        if self.some(4):
            fields["metadata"] = self.draw(METADATA)
        super()._aside(type, **fields)

    def snapshot(self) -> None:
        """What was told, all or some of it, and something new."""
        self.lanes.clear()
        chosen = [message for message in self.messages_so_far() if not self.some(4)]
        if self.some():
            chosen = [
                message for message in chosen if message["role"] not in ("reasoning", "activity")
            ]
        news = [
            {"id": self.fresh("old"), "role": "assistant", "content": self.draw(TEXT)},
            {"id": self.fresh("user"), "role": "user", "content": [{"type": "text", "text": "?"}]},
        ]
        event: Event = {"type": "MESSAGES_SNAPSHOT", "messages": chosen + news[: self.count % 3]}
        if self.some(6):
            types = self.pick([None, ["PLAN"], [], "PLAN"])
            event["metadata"] = {"@ag-ui/client": {"authoritativeActivityTypes": types}}
        self.events.append(event)


OPERATIONS = ["add", "add", "replace", "remove", "test", "move", "copy"]


def expanded(events: list[Event]) -> list[Event]:
    """The log of what an agent emits: chunks as triads."""
    chunks = Chunks()
    return [part for event in events for part in chunks.expand(event)]


@st.composite
def threads(draw: Callable[..., Any], *, size: int = 30) -> list[Event]:
    """What a reader of one to three runs gets, chunks unexpanded; the last run may be cut off."""
    log = Log(draw)
    for left in reversed(range(draw(st.integers(1, 3)))):
        log.begin()
        for _ in range(draw(st.integers(0, size))):
            log.pick(log.moves)()
        if left or draw(st.booleans()):
            log.finish()
    return log.events
