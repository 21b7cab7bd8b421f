"""A violation: a promise that a history shows to be broken."""

from typing import NamedTuple

KINDS = {
    "lost": "an event that a reader or a producer was promised is missing",
    "doubled": "a reader received an event twice, or a log has a producer's event twice",
    "reordered": "a reader received events in another order than that of the log",
    "altered": "a reader received another event than the log has at that place",
    "terminal": "a log has not exactly one terminal event, or not that of its run's status",
    "start": "a start was acknowledged, and there is no such run",
    "idempotency": "one key made two runs, or two keys got the same run",
    "answer": "a question accepted two answers, or stored another one than it accepted",
    "feed": "the team's feed has a gap, an entry twice, or not the entries that its runs owe",
    "webhook": "a message that was owed did not come, came under two ids, or was not owed",
    "final": "a message of a lost run is wrong about the attempt that follows it",
    "tick": "a tick of a schedule started no run, or more than one",
    "dialect": "a reader of another wire format got other text, or another end, than the log has",
    "reset": "a reader was reset, and its log had lost nothing that it was shown",
}
"""By name: the meaning."""


class Violation(NamedTuple):
    """Its kind, the run, reader or key that it is about, and what the history shows."""

    kind: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}: {self.detail}"
