"""Intake, the only way into a journal: gate → chunk expansion → verifier → encode.

The executor, cancel and the reaper all use it, so that an illegal log is impossible. It adds what
agents leave out: RUN_STARTED, the terminal event, timestamps, the calls that wait for the
application.

Ids are corrected, not refused: adapters of other frameworks put their own threadId and runId on
RUN_STARTED and RUN_FINISHED, but a client recognises the run by the ids it sent.

Unless the intake is strict, ``repair.py`` mends rule violations where it can. Repairs and refusals
are findings, stored next to the log: metadata of events would stay on the client's messages.
"""

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from agui_host.protocol.encoding import Record, clean_text, encode
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.fold.inherited import MARKED, Past
from agui_host.protocol.intake import endings
from agui_host.protocol.intake.chunks import Chunks
from agui_host.protocol.intake.findings import Finding, Findings
from agui_host.protocol.intake.gate import Gate, gate, leave_raw_out
from agui_host.protocol.intake.plain_delta import STRETCH, PlainDelta, Queue, plain_delta, take_all
from agui_host.protocol.intake.repair import DROP, Fix, mend
from agui_host.protocol.intake.replicas import MAX_BYTES as MAX_STATE_BYTES
from agui_host.protocol.intake.replicas import NO_TEXT, Replicas
from agui_host.protocol.intake.reused_ids import ReusedIds
from agui_host.protocol.intake.split_characters import Seams
from agui_host.protocol.intake.tally import Tally
from agui_host.protocol.intake.verifier import Verifier
from agui_host.protocol.questions.rules import Asked
from agui_host.protocol.schema import PROTOCOL_VERSION
from agui_host.protocol.sizes import FRAMING, MAX_EVENT_BYTES, is_too_large
from agui_host.protocol.values import DAY
from agui_host.protocol.violation import Violation

MAX_TEXT = 100 * 1024 * 1024
MAX_MESSAGE = 2000
Batch = list[dict[str, Any]]
_BARE: Mapping[str, Any] = {"type": "RUN_STARTED"}


class Intake:
    """The intake of one run.

    ``terminal`` is the terminal event once it was accepted, ``findings.new`` are those to take,
    ``past`` marks parts older than the run. Methods return the records to append, in order; a
    method that raises has recorded nothing and leaves the intake usable. After the end the host's
    own methods return nothing and ``accept`` raises RunFailed(INVALID_ORDER).
    """

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        *,
        input: Mapping[str, Any] | None = None,
        protocol_version: str = PROTOCOL_VERSION,
        max_bytes: int = MAX_EVENT_BYTES,
        max_state: int = MAX_STATE_BYTES,
        max_text: int = MAX_TEXT,
        repair: bool = True,
        states: bool = False,
        raw: bool = True,
        rules: Collection[str] = (),
        history: Collection[Mapping[str, Any]] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``input`` is echoed on RUN_STARTED; ``clock`` gives epoch seconds.

        ``max_bytes`` bounds one event, ``max_state`` the state and activities of the run,
        ``max_text`` the characters of its messages, calls and reasoning. ``history`` are the
        messages of the thread, whose ids this run must not reuse. Without ``repair`` every
        violation is refused. ``states``: the log gets the state before its first delta. Without
        ``raw`` the log gets no ``rawEvent`` and no RAW. ``rules`` make questions of other events.
        """
        self.terminal: dict[str, Any] | None = None
        self._ids = {"threadId": clean_text(thread_id), "runId": clean_text(run_id)}
        self._input, self._protocol_version = input, protocol_version
        self._max_bytes, self._repair, self._clock = max_bytes - FRAMING, repair, clock
        self._gate = Gate(self._ids, self._find, clock, repair=repair, raw=raw)
        continued = partial(self._find, "chunks", "continued") if repair else None
        self._chunks, self._early = Chunks(continued), Chunks(continued)
        self.past = Past(history, input or {})
        find = partial(self._find, "reused_id")
        self._reused = ReusedIds(self._ids["runId"], history, find, repair=repair)
        self.by_rule = Asked(rules, self._ids["runId"], (input or {}).get("tools") or ())
        self._verifier = Verifier()
        self.replicas = Replicas((input or {}).get("state", {}), max_state, unstated=states)
        self._max_text = self._room = max_text
        self.findings, self._seams = Findings(), Seams()
        self._waiting_halves = self._seams.waiting
        self._tally: Tally | None = Tally()
        self._lost, self._head, self._agent_started = False, 0, False

    @classmethod
    def reopened(
        cls,
        thread_id: str,
        run_id: str,
        *,
        head: int,
        input: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> "Intake":
        """The intake of a run that lost its worker, whose log has ``head`` events.

        A run without events can still start and be cancelled. Otherwise the open parts are unknown,
        and only ``fail``, which can cut everything short, is possible.
        """
        intake = cls(thread_id, run_id, input=input, clock=clock)
        if head > 0:
            intake._head, intake._lost, intake._tally = head, True, None
        return intake

    @property
    def started(self) -> bool:
        """Whether the log has its RUN_STARTED."""
        return self._head > 0 or self._verifier.ids is not None

    @property
    def ended(self) -> bool:
        """Whether the log has its terminal event."""
        return self.terminal is not None

    @property
    def tally(self) -> Tally | None:
        """The run's counts so far; None if its log began before this intake."""
        return self._tally

    def tables(self) -> list[dict[Any, Any] | set[str]]:
        """What events have made of the run's parts, by their ids, in a fixed order."""
        return [*self._verifier.tables(), *self._reused.tables()]

    def accept(self, event: Any) -> list[Record]:
        """Take an event of the agent: a mapping or a pydantic model.

        Raises RunFailed with INVALID_EVENT, INVALID_ORDER or EVENT_TOO_LARGE.
        """
        if self.terminal is not None or self._lost:
            self._refuse()
        if (delta := plain_delta(event)) and (records := self._deltas(delta, None, 1)):
            return records
        try:
            if (clean := self._gate.read(event)) is None:
                return []
            return self._take(clean["type"], clean)
        except RunFailed as failed:
            self._refused(failed)
            raise

    def further(self, queue: Queue, most: float) -> list[Record]:
        """Take plain deltas of one part, up to ``most`` and some KB, off the front of a queue.

        They are as ``accept`` takes them, all at one moment. Any other event stays in the queue.
        """
        event = queue.popleft()
        delta = None if self.ended else plain_delta(event)
        records = self._deltas(delta, queue, most if self._room > STRETCH else 1) if delta else []
        if not records:
            queue.appendleft(event)
        return records

    def plain(self, event: Any) -> list[dict[str, Any]]:
        """An event as middleware reads it, before ``accept``: in wire form, its chunks expanded.

        Raises RunFailed as ``accept`` does; the order of events is not checked.
        """
        try:
            clean = self._gate.read(event)
            return [] if clean is None else self._early.expand(clean)
        except RunFailed as failed:
            self._refused(failed)
            raise

    def take_findings(self) -> list[Finding]:
        """The findings since the last call: events that were mended or refused."""
        return self.findings.take(self._head if self.ended else None)

    def start(self) -> list[Record]:
        """RUN_STARTED, unless the log has it."""
        return [] if self.started or self.ended else self._commit(self._opening())

    def finish(
        self, outcome: Mapping[str, Any] | None = None, result: Any = None, usage: Any = None
    ) -> list[Record]:
        """Close open parts, then RUN_FINISHED. Raises RunFailed if that cannot be stored."""
        if self.ended:
            return []
        if self._lost:
            self._refuse()
        fields = {"outcome": outcome, "result": result, "usage": usage}
        (end,) = self._reused.rename(gate({"type": "RUN_FINISHED", **fields}, self._ids))
        close = endings.finished if outcome else partial(endings.ended, unusable=self._unusable)
        end = close(end, self._verifier.parts, self.by_rule)
        closings = self._closings(endings.subagent_ending(end.get("outcome")))
        return self._commit([*self._unopened(), *closings, end])

    def cancel(self, **more: Any) -> list[Record]:
        """Close open parts, then RUN_FINISHED with the outcome ``cancelled``, and ``more``."""
        if self.ended:
            return []
        if self._lost:
            self._refuse()
        end = {"type": "RUN_FINISHED", **self._ids, "outcome": {"type": "cancelled"}, **more}
        closings = self._closings(endings.subagent_error("The run was cancelled.", "cancelled"))
        return self._commit([*self._unopened(), *closings, end])

    def fail(self, code: RunErrorCode, message: str, **more: Any) -> list[Record]:
        """Close known open parts, then RUN_ERROR with ``more``; this always succeeds.

        ``message`` is for people and leaves the host; it is cut at 2000 characters.
        """
        if self.ended:
            return []
        text = clean_text(message)[:MAX_MESSAGE]
        end = {"type": "RUN_ERROR", "message": text, "code": code.value, **more}
        opening, closings = self._unopened(), self._closings(endings.subagent_error(text))
        try:
            return self._commit([*opening, *closings, end])
        except RunFailed:
            # Only the closing events can be refused, for ids near the size limit.
            return self._commit([*opening, end])

    def _deltas(self, delta: PlainDelta, queue: Queue | None, most: float) -> list[Record]:
        """Records of a delta of an open part, and of those after it; none if it needs a look."""
        if self._waiting_halves or self._chunks.lanes or self._room <= 0:
            return []
        kind, _, name, _, stamp = delta
        if (name := clean_text(name)) in self._reused.used:
            name = self._reused.delta(kind, name)
        read_on = name in self._reused.restated or name in self.by_rule.reading
        if read_on or name not in self._verifier.streaming[kind]:
            return []
        at = self._clock()
        time = now = int(at * 1000)
        if stamp is not None:
            near = -DAY <= stamp - now <= DAY
            time = stamp if near else self._gate.stamp(stamp, at) or now
        text, records = take_all(delta, name, at, time, queue, most, self._max_bytes)
        if not records:
            return []
        if kind == "TOOL_CALL_ARGS":
            self._reused.argued(name, text)
        self._head += len(records)
        self._room -= len(text)
        if (tally := self._tally) and (tally.first is None or tally.answered.reading is not None):
            tally.piece(kind, name, text, at)
        return records

    def _take(self, kind: str, clean: dict[str, Any]) -> list[Record]:
        """Handle an event that is not a plain delta: it can start or end the run or a chunk."""
        if kind == "RUN_STARTED" and not self._agent_started:
            # The agent's RUN_STARTED and the host's are one event, whichever comes first.
            records = [] if self.started else self._commit(self._opening(clean))
            self._agent_started = True
            return records
        lanes = self._chunks.lanes.copy()
        try:
            if self._room <= 0 and kind not in NO_TEXT:
                # Readers and the worker hold all of the text in memory.
                text = f"The run's messages have more than {self._max_text:,} characters."
                raise RunFailed(RunErrorCode.EVENT_TOO_LARGE, text)
            batch = self._seams.joined(self._batch(kind, clean))
            return self._commit([*self._unopened(), *batch])
        except RunFailed:
            self._chunks.lanes = lanes
            raise

    def _batch(self, kind: str, clean: dict[str, Any]) -> Batch:
        if kind == "RUN_ERROR":  # a log with every part closed reads better
            return [*self._closings(endings.subagent_error(clean["message"][:MAX_MESSAGE])), clean]
        expanded = self._chunks.expand(clean)
        batch = [each for event in expanded for each in self._reused.rename(event)]
        if kind == "RUN_FINISHED":
            parts = self._verifier.parts
            return [*batch[:-1], endings.ended(batch[-1], parts, self.by_rule, self._unusable)]
        if kind in MARKED:
            self.past.mark(batch[-1])
        return [*self.replicas.before(clean), *batch]

    def _commit(self, batch: Batch) -> list[Record]:
        """Encode, verify and mend a batch; return its records: all of them or none."""
        mended: list[Finding] = []
        while True:
            if self._waiting_halves:
                batch = self._seams.flushed(batch)
            records = [self._record(event) for event in batch]
            if (fixed := self._verified(batch, records, mended)) is None:
                break
            batch = fixed
        for event in batch:
            self._reused.follow(event)
            self.by_rule.note(event)
        self._head += len(records)
        if self._tally is not None:
            self._tally.take(records, batch)
        self._room -= sum(len(r.payload) for r in records if r.type not in NO_TEXT)
        for finding in mended:
            self.findings.add(finding.seq, finding.rule, finding.action)
        if self._verifier.ended is not None:
            self.terminal = batch[-1]
            self._chunks.lanes = {}
        return records

    def _verified(self, batch: Batch, records: list[Record], mended: list[Finding]) -> Batch | None:
        """Feed the batch: None if it is legal, else the batch to try instead.

        Each try mends one event: drops it, or inserts missing events before it. Raises Violation
        if nothing can be mended. In both cases the verifier has not moved.
        """
        verifier, fresh = self._verifier, self._verifier.ids is None
        mark = verifier.parts.mark() if len(batch) > 1 else None
        at = 0
        try:
            for at, event in enumerate(batch):
                verifier.feed(event)
                self.replicas.take(event, records[at].payload)
        except RunFailed as failed:
            rule, fix = getattr(failed, "rule", ""), None
            if self._repair and isinstance(failed, Violation):
                fix = self._fix(failed, event)
            if fresh:
                self._verifier = Verifier()
            elif mark is not None:
                verifier.parts.restore(mark)
            if fix is None:
                raise
            mended.append(Finding(self._head + 1 + at, rule, fix.action))
            return [*batch[:at], *fix.events, *batch[at + 1 :]]
        return None

    def _fix(self, violation: Violation, event: dict[str, Any]) -> Fix | None:
        fix = mend(self._verifier, self.replicas, violation, event)
        if fix is not None and fix.action == "restated":
            try:
                self._record(fix.events[0])
            except RunFailed:
                # Patches may have made the state too large to be sent, but readers hold it anyway.
                return DROP
        return fix

    def _record(self, event: dict[str, Any]) -> Record:
        at = self._clock()
        if "timestamp" not in event:
            event["timestamp"] = int(at * 1000)
        payload = encode(event)
        if is_too_large(payload, self._max_bytes) and leave_raw_out(event):
            self._find("size", "dropped")
            payload = encode(event)
        if is_too_large(payload, self._max_bytes):
            what = f"A {event['type']} event is larger than {self._max_bytes:,} bytes"
            raise RunFailed(RunErrorCode.EVENT_TOO_LARGE, f"{what} or holds too many values.")
        return Record(event["type"], payload, at)

    def _unopened(self) -> Batch:
        return [] if self.started else self._opening()

    def _opening(self, event: Mapping[str, Any] = _BARE) -> Batch:
        """RUN_STARTED, the agent's or our own; an ``input`` too large to send is left out."""
        facts: dict[str, Any] = {"protocolVersion": self._protocol_version}
        if self._input is not None:
            parent = self._input.get("parentRunId") or event.get("parentRunId")
            facts |= {"input": self._input, "parentRunId": parent}
        try:
            full = gate({**event, **facts}, self._ids)
            self._record(full)
        except RunFailed:
            bare = {**event, "protocolVersion": self._protocol_version}
            bare.pop("input", None)
            return [gate(bare, self._ids)]
        return [full]

    def _closings(self, subagent: Mapping[str, Any]) -> Batch:
        return endings.closings(self._verifier.parts, subagent)

    def _unusable(self, number: int, reason: str) -> None:
        """Ask a question without its unusable schema, or refuse it if the intake is strict."""
        if not self._repair:
            where = f"RUN_FINISHED.outcome.interrupts.{number}.responseSchema"
            raise RunFailed(RunErrorCode.INVALID_EVENT, f"{where}: {reason}.")
        self._find("response_schema", "dropped")

    def _refused(self, failed: RunFailed) -> None:
        rules = {RunErrorCode.EVENT_TOO_LARGE: "size", RunErrorCode.INVALID_EVENT: "schema"}
        rule = failed.rule if isinstance(failed, Violation) else rules[failed.reason]
        self._find(rule, "failed")

    def _find(self, rule: str, action: str) -> None:
        self.findings.add(self._head + (1 if self.started else 2), rule, action)

    def _refuse(self) -> None:
        text = "The parts that this run left open are unknown, so it can only fail."
        text = "The run has already ended." if self.ended else text
        raise RunFailed(RunErrorCode.INVALID_ORDER, text)
