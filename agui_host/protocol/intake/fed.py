"""FedIntake: an intake that outlives its process, for a run that is fed batch by batch.

Most of it is restored from the log: open parts, the state, owners. The rest is ``memory``: a few
ids, stored with each batch. A process that has the intake of an earlier batch catches up with
events that others have appended since. A refused batch is undone, so that the next one does not
read the log again.
"""

import json
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

from agui_host.protocol import patient_json
from agui_host.protocol.encoding import DELTA_IDS, Record, clean_text
from agui_host.protocol.errors import HostError, RunErrorCode, RunFailed
from agui_host.protocol.fold.inherited import Past
from agui_host.protocol.intake import endings, replicas
from agui_host.protocol.intake.findings import Finding
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.replicas import NO_TEXT
from agui_host.protocol.intake.tally import Tally
from agui_host.protocol.questions.rules import Asked
from agui_host.protocol.strict_json import dumps

CUT = ("messageId", "toolCallId", "stepName")
"""The members that name a part in the event that closes it."""
MAX_MEMORY = 1024 * 1024
REPLAYED = 25
"""Units of work for each event that is read from the log again, in addition to its text."""
MAX_WORK = 4_000_000
"""Units that one batch may cost: about a second of a database thread."""


class EventRefused(HostError):
    """An event of the batch breaks AG-UI; nothing of the batch was stored."""

    code = "event_refused"
    status = 422

    @classmethod
    def at(cls, index: int, failed: RunFailed) -> "EventRefused":
        """``index`` counts the events of the batch from 0."""
        details = {"index": index, "reason": failed.reason.value}
        return cls(f"Event {index} of the batch: {failed.message}", details=details)


class Mark(NamedTuple):
    """An intake between two batches."""

    tables: list[Any]
    ends: tuple[dict[str, str] | None, str | None, dict[str, Any] | None]
    replicas: replicas.Mark
    past: Past
    by_rule: Asked
    place: tuple[int, int, bool, int]
    memory: str
    findings: list[Finding]


class FedIntake(Intake):
    """An intake with a ``head`` and a ``memory``. After EventRefused it is as before the batch."""

    _remembered: str | None = None

    @property
    def head(self) -> int:
        """How many events the log has."""
        return self._head

    def take(self, events: Sequence[Any], *, ends: bool = False) -> list[Record]:
        """The records of a batch; with ``ends`` also of the run's end.

        Raises EventRefused, with the intake as it was. The cost of that is the batch's.
        """
        mark = self._mark()
        try:
            records = self._taken(events)
        except EventRefused:
            self._restore(mark)
            raise
        self.replicas.settle()
        self._remembered = None
        return [*records, *endings.end(self)] if ends else records

    def _taken(self, events: Sequence[Any]) -> list[Record]:
        records: list[Record] = []
        most = self.replicas.work + MAX_WORK
        for index, event in enumerate(events):
            try:
                records += self.accept(event)
                if self.replicas.work > most:
                    raise RunFailed(
                        RunErrorCode.EVENT_TOO_LARGE,
                        "The batch's patches copy or shift too much; send fewer in a batch.",
                    )
            except RunFailed as failed:
                raise EventRefused.at(index, failed) from None
        if len(self.memory) > MAX_MEMORY:
            much = RunFailed(RunErrorCode.EVENT_TOO_LARGE, "Too many parts come in chunks.")
            raise EventRefused.at(len(events) - 1, much)
        return records

    def _mark(self) -> Mark:
        verifier = self._verifier
        return Mark(
            [table.copy() for table in self.tables()],
            (verifier.ids, verifier.ended, self.terminal),
            self.replicas.mark(),
            copy(self.past),
            self.by_rule.copy(),
            (self._head, self._room, self._agent_started, self._reused.room),
            self.memory if self._remembered is None else self._remembered,
            self.findings.new.copy(),
        )

    def _restore(self, mark: Mark) -> None:
        verifier = self._verifier
        for table, before in zip(self.tables(), mark.tables, strict=True):
            table.clear()
            table.update(before)
        verifier.ids, verifier.ended, self.terminal = mark.ends
        self.replicas.restore(mark.replicas)
        self.past, self.by_rule = mark.past, mark.by_rule
        self._head, self._room, self._agent_started, self._reused.room = mark.place
        self.remember(mark.memory)
        self.findings.new = mark.findings

    def replay(self, payloads: Iterable[str]) -> None:
        """Follow events that the log has."""
        for payload in payloads:
            event = patient_json.loads(payload)
            self._verifier.feed(event)
            self._reused.follow(event)
            self.by_rule.note(event)
            self.replicas.take(event, payload)
            self.replicas.work += REPLAYED + len(payload) // 16
            self._head += 1
            if event["type"] in DELTA_IDS:
                self._room -= len(event["delta"])
            elif event["type"] not in NO_TEXT:
                self._room -= len(payload)
            if self._verifier.ended is not None:
                self.terminal = event

    def cut(self, message: str, marker: dict[str, Any]) -> tuple[list[Record], list[str]]:
        """Close the parts that a lost attempt left open, then the ``marker``; the records, the ids.

        A call whose arguments are cut short gets a result: clients must not execute it.
        """
        closings = self._closings(endings.subagent_error(message))
        cut = [str(event[name]) for event in closings for name in CUT if name in event]
        results = [
            {
                "type": "TOOL_CALL_RESULT",
                "messageId": f"{event['toolCallId']}-cut",
                "toolCallId": event["toolCallId"],
                "content": message,
                "role": "tool",
            }
            for event in closings
            if event["type"] == "TOOL_CALL_END"
        ]
        marker["value"]["cut"] = cut
        return self._commit([*closings, *results, marker]), cut

    @property
    def memory(self) -> str:
        """The state that is not in the log, as JSON."""
        text = dumps(
            {
                "chunks": self._chunks.dump(),
                "reused": self._reused.dump(),
                "halves": self._seams.dump(),
                "findings": self.findings.dump(),
                "legacy": self._gate.dump(),
                "started": self._agent_started,
                "tally": self._tally and self._tally.dump(),
                "answered": self._tally and self._tally.answered.dump(),
                "changed": self.replicas.changed,
            }
        )
        return clean_text(text)

    def remember(self, memory: str) -> None:
        """Take over the ``memory`` that was stored with the log's last event."""
        self._remembered = memory
        stored = json.loads(memory)
        self._chunks.load(stored["chunks"])
        self._reused.load(stored["reused"])
        self._seams.load(stored["halves"])
        self.findings.load(stored["findings"])
        self._gate.load(stored["legacy"])
        self._agent_started = stored["started"]
        self.replicas.changed = stored.get("changed", True)
        # Without one for a run that an older version began to feed.
        tally = stored.get("tally")
        self._tally = Tally() if tally else None
        if self._tally is not None:
            self._tally.load(tally)
            if answered := stored.get("answered"):
                self._tally.answered.load(answered)
