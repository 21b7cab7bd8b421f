"""The link view of a log, folded once for all of its readers.

The hidden parts depend on earlier events, so every reader needs the log from its first event. The
readers of one run under one redaction share the view and its output.
"""

import asyncio
import threading
import weakref
from collections.abc import Sequence
from uuid import UUID

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.held import Held, Hold
from agui_host.backends.shelf import Shelf
from agui_host.protocol.views.alone import Alone
from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.redaction import Redaction
from agui_host.web import sse
from events.frames import Frames
from runs.access.sight import Sight

LOG_BYTES = 8_000_000
"""Shown bytes that are kept of one log; each reader folds the rest separately."""
LOGS = 8
"""Logs that are kept without a reader, until that is so for some minutes."""
ledger = Held(process=64_000_000, team=24_000_000)
"""Shown bytes of all logs, including those being read."""
PIECE_BYTES = 100
"""Memory of a piece in addition to its bytes."""


class LinkLog:
    """The shared view of one log.

    Its readers wait for ``lock`` in turn; ``in_thread`` holds while one of them folds, who might
    leave before that ends.
    """

    def __init__(self, team: UUID, redaction: Redaction, alone: Alone | None) -> None:
        self.view = LinkView(redaction, alone)
        self.pieces: list[bytes] = []
        self.lock = asyncio.Lock()
        self.in_thread = threading.Lock()
        self.is_full = False
        self.epoch = epochs.FIRST
        self._bytes, self._hold = 0, Hold(ledger, team)
        weakref.finalize(self, self._hold.close)

    def add(self, piece: bytes) -> None:
        """Keep the visible part of the next event."""
        self.pieces.append(piece)
        size = len(piece) + PIECE_BYTES
        self._bytes += size
        # It ends with this piece, so that each reader continues from the same view.
        self.is_full = not self._hold.take(size) or self._bytes >= LOG_BYTES


class LinkReader:
    """A view for ``stream_run``: the log from its first event, shown behind ``after``."""

    def __init__(self, log: LinkLog, after: int) -> None:
        self.log = log
        self._after = after
        self._own: LinkView | None = None

    def __call__(self, batch: Frames) -> bytes:
        """The bytes of a batch: never none, which some servers take for the end."""
        with self.log.in_thread:
            return self._shown(batch) or sse.HEARTBEAT

    def _shown(self, batch: Frames) -> bytes:
        if batch.epoch != self.log.epoch:
            if batch.first <= len(self.log.pieces) and batch.epoch > self.log.epoch:
                raise Reset.to(batch.last)  # another reader's events went back
            self.log.epoch = max(self.log.epoch, batch.epoch)
        chunks, passed = [], 0
        for place in range(batch.last - batch.first + 1):
            seq = batch.first + place
            piece = self._piece(batch, place)
            if seq > self._after and piece:
                chunks.append(piece)
                passed = 0
            else:
                passed = seq
        if passed:
            chunks.append(b": %d\n" % passed)
        return b"".join(chunks)

    def _piece(self, batch: Frames, place: int) -> bytes:
        log, seq = self.log, batch.first + place
        if seq <= len(log.pieces):
            return log.pieces[seq - 1]
        if self._own is None and log.is_full:
            self._own = log.view.copy()
        if self._own is not None:
            return batch.linked_piece(self._own, place)
        piece = batch.linked_piece(log.view, place)
        log.add(piece)
        return piece


Key = tuple[UUID, tuple[str, ...], Sight | None, int]


class LinkLogs:
    """The logs that were read last."""

    def __init__(self) -> None:
        self._logs: Shelf[Key, LinkLog] = Shelf(process=0, team=0, most=LOGS)

    def reader(
        self,
        run: UUID,
        redact: Sequence[str],
        after: int,
        *,
        team: UUID,
        alone: Sight | None = None,
    ) -> LinkReader:
        """A reader of a run under the redaction of its link; ``alone`` for one to the run only."""
        key = run, tuple(redact), alone, epochs.latest
        log = self._logs.get(key)
        if log is None:
            log = LinkLog(team, Redaction(redact), alone and alone.view())
            self._logs.put(key, log, team)
        return LinkReader(log, after)


link_logs = LinkLogs()
