"""Row: one thing of a run with a beginning and an end, as the outline lists it."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any

from agui_host.protocol.violation import Owner

LONGEST_GIST = 200
LONGEST_NAME = 200
LONGEST_ID = 300
MOST_KEYS = 50
DEEPEST = 32
"""How many subagents a lane names, the innermost ones: a chain can be thousands long."""

RUNNING, PENDING, SUCCEEDED, FAILED = "running", "pending", "succeeded", "failed"
INTERRUPTED, ASKED, UNFINISHED = "interrupted", "asked", "unfinished"
STATUSES = (RUNNING, PENDING, SUCCEEDED, FAILED, INTERRUPTED, ASKED, UNFINISHED)
"""``pending``: a tool call without a result; ``unfinished``: it was open when the run ended."""
FIELDS = (
    "n", "kind", "id", "parent", "lane", "name", "seq0", "seq1", "t0", "t1", "bytes", "status",
    "result", "gist", "of_input",
)  # fmt: skip


class Row:
    """``n`` counts from 1; ``seq0`` and ``seq1`` are its first and last event, ``t0``, ``t1`` ms.

    ``seq1`` and ``t1`` are None while it is open. ``lane`` is the chain of subagents in which it
    happened, outermost first; a subagent's own lane ends with itself. ``bytes`` is the size of its
    events, ``result`` the seq of a tool call's result. ``of_input``: it changes what only the run's
    input contains, which links do not show. ``changed`` is the event that last changed the row.
    """

    __slots__ = (*FIELDS, "changed")

    def __init__(
        self, n: int, kind: str, id: str, name: str, lane: tuple[str, ...], parent: Owner
    ) -> None:
        self.n, self.kind, self.id, self.lane, self.parent = n, kind, id, lane, parent
        self.name = cut(name, LONGEST_NAME)
        self.seq0 = self.bytes = self.changed = 0
        self.seq1: int | None = None
        self.t0: int | None = None
        self.t1: int | None = None
        self.status = RUNNING
        self.result: int | None = None
        self.gist = ""
        self.of_input = False

    @property
    def owner(self) -> Owner:
        """The subagent in which it happened, or None."""
        return self.lane[-1] if self.lane else None

    def wire(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {name: getattr(self, name) for name in FIELDS} | {"lane": list(self.lane)}

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> "Row":
        """Restore a row from ``wire``; ``changed`` is lost, and is the last event known of it."""
        row = cls.__new__(cls)
        for name in FIELDS:
            setattr(row, name, values[name])
        row.lane = tuple(values["lane"])
        row.changed = max(row.seq0, row.seq1 or 0, row.result or 0)
        return row

    def touch(self, seq: int, size: int) -> None:
        """One more event is part of it."""
        self.changed = seq
        self.bytes += size

    def tell(self, text: Any) -> None:
        """Add to its gist, as long as there is room."""
        room = LONGEST_GIST - len(self.gist)
        if room > 0 and isinstance(text, str):
            self.gist += text[:room]

    def retell(self, texts: Iterable[Any]) -> None:
        """Make its gist of these alone."""
        self.gist = ""
        for text in texts:
            self.mention(text)

    def mention(self, text: Any) -> None:
        """Add a word to its gist, once."""
        if isinstance(text, str) and text not in self.gist:
            self.tell(f" {text}" if self.gist else text)

    def end(self, seq: int, at: int | None, status: str) -> None:
        """It ends here, until something opens it again."""
        self.seq1, self.t1, self.status = seq, at, status


def paths(event: Mapping[str, Any]) -> Iterable[str]:
    """The places that a snapshot or a patch of the state sets; the first ones."""
    if event["type"] == "STATE_DELTA":
        return (operation["path"] for operation in islice(event["delta"], MOST_KEYS))
    snapshot = event["snapshot"]
    names = islice(snapshot, MOST_KEYS) if isinstance(snapshot, dict) else ()
    return (f"/{name}" for name in names)


def key_of(id: str) -> str:
    """An id as rows name it: an absurdly long one is cut, and stays unique."""
    if len(id) <= LONGEST_ID:
        return id
    return f"{id[:200]}…{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def key_of_owner(id: Owner) -> Owner:
    """The key of a subagent, if there is one."""
    return None if id is None else key_of(id)


def cut(text: str, longest: int) -> str:
    """At most that many characters of a text."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
