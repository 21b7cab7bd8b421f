"""How one reader of a dialect sees a log: its fold is fed all of it, and it gets what is new."""

from collections.abc import Callable

from events.frames import Frames
from protocol.dialects.fold import Dialect, Frame, numbered
from protocol.schema import TERMINAL
from web import sse

Framing = Callable[[int, Frame], bytes]
"""The bytes of a frame, from its number."""


class Teller:
    """A view for ``stream_run``. ``after``: the number of the last frame that the reader has.

    ``farewell`` follows the terminal event of the last of ``runs`` runs.
    """

    def __init__(
        self,
        fold: Dialect,
        framing: Framing,
        *,
        after: int = -1,
        runs: int = 1,
        farewell: bytes = b"",
    ) -> None:
        self._fold, self._framing = fold, framing
        self._after, self._left, self._farewell = after, runs, farewell

    def __call__(self, batch: Frames) -> bytes:
        """The bytes of a stretch of the log: never none, which some servers take for the end."""
        pieces = []
        for seq, event in enumerate(batch.events, batch.first):
            pieces += [
                self._framing(number, frame)
                for number, frame in numbered(self._fold, seq, event)
                if number > self._after
            ]
            if event["type"] in TERMINAL:
                self._left -= 1
                if not self._left:
                    pieces.append(self._farewell)
        return b"".join(pieces) or sse.HEARTBEAT
