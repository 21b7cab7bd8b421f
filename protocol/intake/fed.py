"""FedIntake: an intake that outlives its process, for a run that is fed batch by batch.

The log brings back most of it: what is open, the state, who owns what. The rest, what the log does
not tell, is ``memory``: a few ids, stored with each batch. A process that has the intake of an
earlier batch catches up with what others have appended since.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from protocol.encoding import DELTA_IDS, Record, clean_text
from protocol.errors import HostError, RunErrorCode, RunFailed
from protocol.intake.intake import Intake
from protocol.intake.replicas import NO_TEXT
from protocol.intake.tally import Tally
from protocol.sizes import weight
from protocol.strict_json import dumps

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


class FedIntake(Intake):
    """An intake with a ``head`` and a ``memory``. After EventRefused it must not be used again."""

    @property
    def head(self) -> int:
        """How many events the log has."""
        return self._head

    def take(self, events: Sequence[Any], *, ends: bool = False) -> list[Record]:
        """The records of a batch; with ``ends`` the run's end, too. Raises EventRefused."""
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
        return [*records, *self.finish()] if ends else records

    def replay(self, payloads: Iterable[str]) -> None:
        """Follow events that the log has."""
        for payload in payloads:
            event = json.loads(payload)
            self._verifier.feed(event)
            self.replicas.take(event, weight(payload))
            self.replicas.work += REPLAYED + len(payload) // 16
            self._head += 1
            if event["type"] in DELTA_IDS:
                self._room -= len(event["delta"])
            elif event["type"] not in NO_TEXT:
                self._room -= len(payload)
            if self._verifier.ended is not None:
                self.terminal = event

    @property
    def memory(self) -> str:
        """What the log does not tell, as JSON."""
        text = dumps(
            {
                "chunks": self._chunks.dump(),
                "reused": self._reused.dump(),
                "halves": self._seams.dump(),
                "findings": self.findings.dump(),
                "legacy": self._legacy.dump(),
                "started": self._agent_started,
                "tally": self._tally and self._tally.dump(),
            }
        )
        return clean_text(text)

    def remember(self, memory: str) -> None:
        """Take over the ``memory`` that was stored with the log's last event."""
        stored = json.loads(memory)
        self._chunks.load(stored["chunks"])
        self._reused.load(stored["reused"])
        self._seams.load(stored["halves"])
        self.findings.load(stored["findings"])
        self._legacy.load(stored["legacy"])
        self._agent_started = stored["started"]
        # Without one for a run that an older version began to feed.
        tally = stored.get("tally")
        self._tally = Tally() if tally else None
        if self._tally is not None:
            self._tally.load(tally)
