"""The outline of a run: one row for each thing in it that has a beginning and an end.

Its wait in the queue, the agent's attempts, messages, tool calls, steps, subagents, activities,
changes of the state, questions, errors: about one row for twelve events. The fold is pure, and
resumable: ``dump`` and ``load`` at any event give the same rows as one pass.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from agui_host.protocol.fold.account import CORRECTION, Account
from agui_host.protocol.fold.outline_kinds import (
    ACTIVITY,
    ATTEMPT,
    DELTA,
    ERROR,
    INTERRUPT,
    MESSAGE,
    OPENS,
    OUTCOMES,
    PARTS,
    QUEUE,
    REASONING,
    RECOVERED,
    SNAPSHOT,
    STATE,
    STEP,
    SUBAGENT,
    TOOL,
    name_of,
)
from agui_host.protocol.fold.outline_row import (
    ASKED,
    DEEPEST,
    FAILED,
    INTERRUPTED,
    LONGEST_NAME,
    MOST_KEYS,
    PENDING,
    RUNNING,
    SUCCEEDED,
    UNFINISHED,
    Row,
    cut,
    key_of,
    key_of_owner,
    paths,
)
from agui_host.protocol.part_kinds import CALL, SPAN_END, SPAN_START, TEXT, THOUGHT
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.violation import Event, Owner

FORMAT = 4
"""The format of the rows; outlines stored in any other are made again."""


class Outline:
    """Feed it every event of one run's log, in order, with its ``seq`` and its size in bytes.

    ``seq`` is the last event that it was fed, ``rows`` are in the order in which things began.
    ``queued`` is when the run began to wait, in ms; without it, the wait has no length.
    """

    def __init__(self, queued: int | None = None) -> None:
        self._clear()
        row = self._add(QUEUE, "", "", None)
        row.seq0, row.t0 = 1, queued

    def _clear(self) -> None:
        self.seq = 0
        self.rows: list[Row] = []
        self._index: dict[tuple[str, str], Row] = {}
        self._steps: dict[tuple[Owner, str], Row] = {}
        self._open: dict[int, Row] = {}
        # Owners that snapshots name; those of streamed parts are in their rows.
        self._owners: dict[str, dict[str, Owner]] = {
            MESSAGE: {}, TOOL: {}, REASONING: {}, ACTIVITY: {},
        }  # fmt: skip
        self._thinking: set[tuple[str, str]] = set()  # open spans and messages: one id is one row
        self._state: Row | None = None  # that the next change of the state can be part of
        self._has_snapshot = False
        self._account = Account()

    def feed(self, seq: int, event: Event, size: int = 0) -> None:
        """Take the next event; those of types that are not in ``FEEDS`` can be left out."""
        self.seq = seq
        if (rule := _RULES.get(event["type"])) is not None:
            self._account.take(event)
            rule(self, seq, event, size)

    def since(self, seq: int) -> list[Row]:
        """The rows that began or changed after that event."""
        return [row for row in self.rows if row.changed > seq]

    def dump(self) -> dict[str, Any]:
        """The fold without its rows, as JSON values for ``load``."""
        thinking = [list(each) for each in sorted(self._thinking)]
        known = {"owners": self._owners, "thinking": thinking, "account": self._account.dump()}
        return {"format": FORMAT, "seq": self.seq, **known}

    @classmethod
    def load(cls, dumped: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> "Outline":
        """Restore a fold from ``dump`` and its rows. Raises ValueError for another format."""
        if dumped["format"] != FORMAT:
            raise ValueError(f"not an outline of format {FORMAT}")
        outline = cls.__new__(cls)
        outline._clear()
        outline.seq, outline._owners = dumped["seq"], dumped["owners"]
        outline._thinking = {(start, id) for start, id in dumped["thinking"]}
        outline._account = Account.load(dumped["account"])
        for values in rows:
            outline._put(Row.load(values))
        return outline

    # --- parts that are streamed

    def _start(self, seq: int, event: Event, size: int) -> None:
        kind, key = PARTS[event["type"]]
        row = self._row(kind, key_of(event[key]), event)
        if not row.seq0:
            row.seq0, row.t0 = seq, event.get("timestamp")
        elif kind == TOOL and not row.name:  # so far only its results were known
            row.seq0, row.t0 = seq, event.get("timestamp")
            self._place(row, event)
        elif kind == TOOL:
            row.name = cut(event["toolCallName"], LONGEST_NAME)
        if kind == REASONING:
            self._thinking.add((event["type"], row.id))
        row.seq1 = row.t1 = None
        row.status = RUNNING
        row.touch(seq, size)
        self._open[row.n] = row

    def _content(self, seq: int, event: Event, size: int) -> None:
        kind, key = PARTS[event["type"]]
        row = self._index.get((kind, key_of(event[key])))
        if row is not None:
            row.changed = seq
            row.bytes += size
            row.tell(event["delta"])

    def _end(self, seq: int, event: Event, size: int) -> None:
        kind, key = PARTS[event["type"]]
        if (row := self._index.get((kind, key_of(event[key])))) is None:
            return
        row.touch(seq, size)
        if kind == REASONING:
            self._thinking.discard((OPENS[event["type"]], row.id))
            if any((start, row.id) in self._thinking for start in OPENS.values()):
                return
        waits = kind == TOOL and row.result is None
        self._close(row, seq, event, PENDING if waits else SUCCEEDED)

    def _result(self, seq: int, event: Event, size: int) -> None:
        call = key_of(event["toolCallId"])
        self._own(MESSAGE, key_of(event["messageId"]), key_of_owner(event.get("subagentRunId")))
        row = self._index.get((TOOL, call))
        if row is None:  # a call of an earlier run, which was approved
            row = self._row(TOOL, call, event)
            row.seq0, row.t0, row.seq1 = seq, event.get("timestamp"), seq
        row.result = seq
        row.touch(seq, size)
        if row.seq1 is not None:
            self._close(row, seq, event, SUCCEEDED)

    # --- steps and subagents

    def _step_started(self, seq: int, event: Event, size: int) -> None:
        name = event["stepName"]
        row = self._add(STEP, key_of(name), name, event.get("subagentRunId"))
        _begin(row, seq, event, size)

    def _step_finished(self, seq: int, event: Event, size: int) -> None:
        owner = key_of_owner(event.get("subagentRunId"))
        row = self._steps.pop((owner, key_of(event["stepName"])), None)
        if row is None:
            return
        failed = (event.get("metadata") or {}).get("status") == "failed"
        row.touch(seq, size)
        self._close(row, seq, event, FAILED if failed else SUCCEEDED)

    def _subagent_started(self, seq: int, event: Event, size: int) -> None:
        key = key_of(event["subagentRunId"])
        parent = key_of_owner(event.get("parentSubagentRunId"))
        row = Row(len(self.rows) + 1, SUBAGENT, key, event["name"], self._lane(parent, key), parent)
        row.tell(event.get("description"))
        _begin(row, seq, event, size)
        self._put(row)

    def _subagent_ended(self, seq: int, event: Event, size: int) -> None:
        row = self._index.get((SUBAGENT, key_of(event["subagentRunId"])))
        failed = event["type"] == "SUBAGENT_ERROR"
        if row is not None:
            suspended = (event.get("outcome") or {}).get("type") == "suspended"
            row.touch(seq, size)
            self._close(
                row, seq, event, FAILED if failed else INTERRUPTED if suspended else SUCCEEDED
            )
        if failed:
            self._error(seq, event, size)

    # --- activities and the state

    def _activity(self, seq: int, event: Event, size: int) -> None:
        key = key_of(event["messageId"])
        row = self._index.get((ACTIVITY, key))
        known = (row is not None and not row.of_input) or key in self._owners[ACTIVITY]
        of_input = event["type"] == "ACTIVITY_DELTA" and not known
        if row is None or row.of_input != of_input:
            owner = event.get("subagentRunId")
            row = self._add(ACTIVITY, key, event["activityType"], owner, of_input=of_input)
            row.seq0, row.t0 = seq, event.get("timestamp")
        row.touch(seq, size)
        if "content" in event and not (known and event.get("replace") is False):
            row.retell(islice(event["content"].values(), MOST_KEYS))
        self._close(row, seq, event, SUCCEEDED)

    def _state_changed(self, seq: int, event: Event, size: int) -> None:
        name = SNAPSHOT if event["type"] == "STATE_SNAPSHOT" else DELTA
        owner, row = key_of_owner(event.get("subagentRunId")), self._state
        if row is None or (row.name, row.owner) != (name, owner):
            of_input = name == DELTA and not self._has_snapshot
            row = self._add(STATE, "", name, owner, of_input=of_input)
            row.seq0, row.t0 = seq, event.get("timestamp")
        row.touch(seq, size)
        for path in paths(event):
            row.mention(path)
        self._close(row, seq, event, SUCCEEDED)

    # --- how the run begins and ends

    def _started(self, seq: int, event: Event, size: int) -> None:
        queue = self.rows[0]
        if queue.status == RUNNING:
            queue.touch(seq, 0)
            self._close(queue, seq, event, SUCCEEDED)
            # Clocks differ, and an imported run was queued after it ended.
            if queue.t1 is not None and (queue.t0 is None or queue.t0 > queue.t1):
                queue.t0 = queue.t1
        _begin(self._add(ATTEMPT, key_of(event["runId"]), "", None), seq, event, size)

    def _recovered(self, seq: int, event: Event, size: int) -> None:
        if event["name"] == RECOVERED and isinstance(value := event.get("value"), dict):
            self._end_attempt(seq, event, 0, UNFINISHED)
            name = f"attempt {value.get('attempt')}"
            row = self._add(ATTEMPT, name, name, None)
            row.tell(value.get("reason"))
            _begin(row, seq, event, size)

    def _end_attempt(self, seq: int, event: Event, size: int, status: str) -> None:
        for row in [row for row in self._open.values() if row.kind == ATTEMPT]:
            row.touch(seq, size)
            self._close(row, seq, event, status)

    def _finished(self, seq: int, event: Event, size: int) -> None:
        outcome = event.get("outcome") or {}
        status = OUTCOMES.get(outcome.get("type") or "", SUCCEEDED)
        self._end_attempt(seq, event, size, status)
        for interrupt in outcome.get("interrupts") or ():
            owner = interrupt.get("subagentRunId")
            row = self._add(INTERRUPT, key_of(interrupt["id"]), interrupt["reason"], owner)
            row.parent = key_of_owner(interrupt.get("toolCallId")) or row.parent
            row.tell(interrupt.get("message"))
            self._moment(row, seq, event, ASKED)
        self._cut_off(seq, event)

    def _run_error(self, seq: int, event: Event, size: int) -> None:
        self._end_attempt(seq, event, size, FAILED)
        self._error(seq, event, size)
        self._cut_off(seq, event)

    def _error(self, seq: int, event: Event, size: int) -> None:
        owner = event.get("subagentRunId")
        row = self._add(ERROR, key_of_owner(owner) or "", event.get("code") or "", owner)
        row.tell(event["message"])
        row.bytes = size
        self._moment(row, seq, event, FAILED)

    def _cut_off(self, seq: int, event: Event) -> None:
        for row in list(self._open.values()):
            row.changed = seq
            self._close(row, seq, event, UNFINISHED)
        self._steps.clear()

    # --- a snapshot's additions and corrections, and the owners of its parts

    def _snapshot(self, seq: int, event: Event, size: int) -> None:
        for made in self._account.restate(event):
            _RULES[made["type"]](self, seq, made, len(dumps(made)))
        for message in event["messages"]:
            if message["role"] == "activity":
                self._owners[ACTIVITY][key_of(message["id"])] = None
                continue
            kind = REASONING if message["role"] == "reasoning" else MESSAGE
            owner = key_of_owner(message.get("subagentRunId"))
            self._own(kind, key_of(message["id"]), owner)
            for call in message.get("toolCalls") or ():
                self._own(TOOL, key_of(call["id"]), owner)

    def _correct(self, seq: int, correction: Event, size: int) -> None:
        kind = PARTS.get(correction["kind"], ("",))[0]
        if (row := self._index.get((kind, key_of(correction["id"])))) is not None:
            row.gist, row.changed = "", seq
            row.tell(correction["content"])
            if correction["content"] is None and row.status == PENDING:
                row.status = UNFINISHED

    def _own(self, kind: str, key: str, owner: Owner) -> None:
        if self._owner(kind, key) != owner:
            self._owners[kind][key] = owner

    def _owner(self, kind: str, key: str) -> Owner:
        if key in self._owners[kind]:
            return self._owners[kind][key]
        row = self._index.get((kind, key))
        return None if row is None else row.owner

    def _lane(self, owner: Owner, own: str | None = None) -> tuple[str, ...]:
        lane: tuple[str, ...] = ()
        if owner is not None:
            subagent = self._index.get((SUBAGENT, owner))
            lane = (owner,) if subagent is None else subagent.lane
        return (lane if own is None else (*lane, own))[-DEEPEST:]

    # --- rows

    def _row(self, kind: str, key: str, event: Event) -> Row:
        """The row of a part, which is made if it is new."""
        row = self._index.get((kind, key))
        return self._place(self._add(kind, key, "", None), event) if row is None else row

    def _place(self, row: Row, event: Event) -> Row:
        """Say where the part that begins with this event belongs."""
        carrier = event.get("parentMessageId")
        owner = key_of_owner(event.get("subagentRunId"))
        if row.kind == TOOL and owner is None and carrier is not None:
            owner = self._owner(MESSAGE, key_of(carrier))
        owner = self._owners[row.kind].get(row.id, owner)
        row.name = cut(name_of(row.kind, event), LONGEST_NAME)
        row.lane, row.parent = self._lane(owner), key_of_owner(carrier) or owner
        return row

    def _add(self, kind: str, key: str, name: str, owner: Owner, *, of_input: bool = False) -> Row:
        owner = key_of_owner(owner)
        row = Row(len(self.rows) + 1, kind, key, name, self._lane(owner), owner)
        row.of_input = of_input
        self._put(row)
        return row

    def _put(self, row: Row) -> None:
        self.rows.append(row)
        if row.kind == STEP and row.status == RUNNING:
            self._steps[row.owner, row.id] = row
        elif row.kind not in (STEP, STATE, INTERRUPT, ERROR):
            self._index[row.kind, row.id] = row
        if row.kind == STATE:
            self._state = row
            self._has_snapshot |= row.name == SNAPSHOT
        elif not row.of_input:  # links do not show that row, so it divides nothing for them
            self._state = None
        if row.status == RUNNING:
            self._open[row.n] = row

    def _close(self, row: Row, seq: int, event: Event, status: str) -> None:
        row.end(seq, event.get("timestamp"), status)
        self._open.pop(row.n, None)

    def _moment(self, row: Row, seq: int, event: Event, status: str) -> None:
        row.seq0, row.t0, row.changed = seq, event.get("timestamp"), seq
        self._close(row, seq, event, status)


def _begin(row: Row, seq: int, event: Event, size: int) -> None:
    row.seq0, row.t0 = seq, event.get("timestamp")
    row.touch(seq, size)


_Rule = Callable[[Outline, int, Event, int], None]
_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys((TEXT.start, CALL.start, THOUGHT.start, SPAN_START), Outline._start),
    **dict.fromkeys((TEXT.content, CALL.content, THOUGHT.content), Outline._content),
    **dict.fromkeys((TEXT.end, CALL.end, THOUGHT.end, SPAN_END), Outline._end),
    "TOOL_CALL_RESULT": Outline._result,
    "STEP_STARTED": Outline._step_started,
    "STEP_FINISHED": Outline._step_finished,
    "SUBAGENT_STARTED": Outline._subagent_started,
    "SUBAGENT_FINISHED": Outline._subagent_ended,
    "SUBAGENT_ERROR": Outline._subagent_ended,
    **dict.fromkeys(("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"), Outline._activity),
    **dict.fromkeys(("STATE_SNAPSHOT", "STATE_DELTA"), Outline._state_changed),
    "CUSTOM": Outline._recovered,
    "MESSAGES_SNAPSHOT": Outline._snapshot,
    CORRECTION: Outline._correct,
    "RUN_STARTED": Outline._started,
    "RUN_FINISHED": Outline._finished,
    "RUN_ERROR": Outline._run_error,
}
FEEDS = sorted(_RULES.keys() - {CORRECTION})
"""The types of the events of which an outline is made; no others need be read."""
