"""Intake, the only way into a journal: gate → chunk expansion → verifier → encode.

Executor, cancel and reaper all use it, so that an illegal log is impossible. It adds what agents
leave out: RUN_STARTED, the terminal event, timestamps, the calls that wait for the application.

Ids are corrected rather than refused: adapters of other frameworks put their own threadId and
runId on RUN_STARTED and RUN_FINISHED, and a client knows the run by the ids it sent.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from agui_project.errors import RunErrorCode, RunFailed
from events.chunks import Chunks
from events.encoding import DELTA_IDS, Record, clean_text, encode
from events.gate import gate
from events.schema import PROTOCOL_VERSION
from events.verifier import Verifier

MAX_EVENT_BYTES = 10 * 1024 * 1024
MAX_MESSAGE = 2000
FRAMING = 64
"""Room for ``id:`` and ``data:``: a client's limit counts them too."""

Batch = list[dict[str, Any]]

_BARE: Mapping[str, Any] = {"type": "RUN_STARTED"}


class Intake:
    """The intake of one run.

    ``terminal`` is the terminal event once it was accepted. Methods return the records to
    append, in order; what raises has recorded nothing and leaves the intake usable. After the
    end the host's own verbs return nothing and ``accept`` raises RunFailed(INVALID_ORDER).
    """

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        *,
        input: Mapping[str, Any] | None = None,
        protocol_version: str = PROTOCOL_VERSION,
        max_bytes: int = MAX_EVENT_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``input`` is echoed on RUN_STARTED; ``clock`` gives epoch seconds."""
        self.terminal: dict[str, Any] | None = None
        self._ids = {"threadId": clean_text(thread_id), "runId": clean_text(run_id)}
        self._input = input
        self._protocol_version = protocol_version
        self._max_bytes = max_bytes - FRAMING
        self._clock = clock
        self._chunks = Chunks()
        self._verifier = Verifier()
        self._head = 0
        self._agent_started = False

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

        With none it can start and cancel; otherwise what is open is not known, and only
        ``fail``, which may cut everything short, is left.
        """
        intake = cls(thread_id, run_id, input=input, clock=clock)
        intake._head = head
        return intake

    @property
    def started(self) -> bool:
        """Whether the log has its RUN_STARTED."""
        return self._head > 0 or self._verifier.ids is not None

    @property
    def ended(self) -> bool:
        """Whether the log has its terminal event."""
        return self.terminal is not None

    def accept(self, event: Any) -> list[Record]:
        """An event of the agent: a mapping or a pydantic model.

        Raises RunFailed with INVALID_EVENT, INVALID_ORDER or EVENT_TOO_LARGE.
        """
        self._refuse_after_end()
        clean = gate(event, self._ids)
        kind = clean["type"]
        if kind in DELTA_IDS and not self._chunks.lanes and self._verifier.ids is not None:
            record = self._record(clean)
            self._verifier.feed(clean)
            return [record]
        return self._take(kind, clean)

    def start(self) -> list[Record]:
        """RUN_STARTED, if it is not there yet."""
        return [] if self.started or self.ended else self._commit(self._opening())

    def finish(
        self,
        outcome: Mapping[str, Any] | None = None,
        result: Any = None,
        usage: Any = None,
    ) -> list[Record]:
        """Close what is open, then RUN_FINISHED. Raises RunFailed if ``outcome`` is malformed."""
        if self.ended:
            return []
        self._refuse_unknown_log()
        fields = {"outcome": outcome, "result": result, "usage": usage}
        end = gate({"type": "RUN_FINISHED", **fields}, self._ids)
        closings = self._closings(_subagent_ending(end.get("outcome")))
        return self._commit([*self._unopened(), *closings, self._finished(end)])

    def cancel(self) -> list[Record]:
        """Close what is open, then RUN_FINISHED with the outcome ``cancelled``."""
        if self.ended:
            return []
        self._refuse_unknown_log()
        end = {"type": "RUN_FINISHED", **self._ids, "outcome": {"type": "cancelled"}}
        closings = self._closings(_subagent_error("The run was cancelled.", "cancelled"))
        return self._commit([*self._unopened(), *closings, end])

    def fail(self, code: RunErrorCode, message: str) -> list[Record]:
        """Close what is open, as far as that is known, then RUN_ERROR; it always can.

        ``message`` is for people and leaves the host; it is cut at 2000 characters.
        """
        if self.ended:
            return []
        text = clean_text(message)[:MAX_MESSAGE]
        end = {"type": "RUN_ERROR", "message": text, "code": code.value}
        opening, closings = self._unopened(), self._closings(_subagent_error(text))
        try:
            return self._commit([*opening, *closings, end])
        except RunFailed:
            # Only a closing can be refused, for ids near the size limit. RUN_ERROR needs none.
            return self._commit([*opening, end])

    def _take(self, kind: str, clean: dict[str, Any]) -> list[Record]:
        """What is not a plain delta: it may start or end the run, or be or end a chunk."""
        if kind == "RUN_STARTED" and not self._agent_started:
            # The agent's first one and the host's are the same, whichever came first.
            records = [] if self.started else self._commit(self._opening(clean))
            self._agent_started = True
            return records
        lanes = self._chunks.lanes.copy()
        try:
            return self._commit([*self._unopened(), *self._batch(kind, clean)])
        except RunFailed:
            self._chunks.lanes = lanes
            raise

    def _batch(self, kind: str, clean: dict[str, Any]) -> Batch:
        if kind == "RUN_ERROR":
            # It may cut everything short; a log in which every part is closed reads better.
            return [*self._closings(_subagent_error(clean["message"][:MAX_MESSAGE])), clean]
        if kind == "RUN_FINISHED":
            clean = self._finished(clean)
        return self._chunks.expand(clean)

    def _commit(self, batch: Batch) -> list[Record]:
        """Encode, verify, return the records; all of the batch or nothing."""
        records = [self._record(event) for event in batch]
        verifier, fresh = self._verifier, self._verifier.ids is None
        mark = verifier.mark() if len(batch) > 1 else None
        try:
            for event in batch:
                verifier.feed(event)
        except RunFailed:
            if fresh:
                self._verifier = Verifier()
            elif mark is not None:
                verifier.restore(mark)
            raise
        if verifier.ended is not None:
            self.terminal = batch[-1]
            self._chunks.lanes = {}
        return records

    def _record(self, event: dict[str, Any]) -> Record:
        at = self._clock()
        if "timestamp" not in event:
            event["timestamp"] = int(at * 1000)
        payload = encode(event)
        if len(payload) > self._max_bytes:
            raise RunFailed(
                RunErrorCode.EVENT_TOO_LARGE,
                f"A {event['type']} event is larger than {self._max_bytes:,} bytes.",
            )
        return Record(event["type"], payload, at)

    def _unopened(self) -> Batch:
        return [] if self.started else self._opening()

    def _opening(self, event: Mapping[str, Any] = _BARE) -> Batch:
        """RUN_STARTED, the agent's or our own, without its ``input`` if that is not fit to send."""
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

    def _finished(self, event: dict[str, Any]) -> dict[str, Any]:
        """A success says which calls wait for the application; a late joiner cannot derive it."""
        outcome = event.get("outcome", {"type": "success"})
        if outcome["type"] != "success":
            return event
        pending = self._verifier.pending_tool_calls()
        if pending:
            return event | {"outcome": {"type": "success", "pendingToolCallIds": pending}}
        return event | {"outcome": {"type": "success"}} if "outcome" in event else event

    def _closings(self, subagent: Mapping[str, Any]) -> Batch:
        return self._verifier.close_open_parts(subagent)

    def _refuse_after_end(self) -> None:
        if self.ended:
            raise RunFailed(RunErrorCode.INVALID_ORDER, "The run has already ended.")
        self._refuse_unknown_log()

    def _refuse_unknown_log(self) -> None:
        if self._head:
            raise RunFailed(
                RunErrorCode.INVALID_ORDER, "What this run left open is unknown: it can only fail."
            )


def _subagent_ending(outcome: Mapping[str, Any] | None) -> dict[str, Any]:
    kind: Literal["suspended", "success"]
    kind = "suspended" if (outcome or {}).get("type") == "interrupt" else "success"
    return {"type": "SUBAGENT_FINISHED", "outcome": {"type": kind}}


def _subagent_error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"type": "SUBAGENT_ERROR", "message": message} | ({"code": code} if code else {})
