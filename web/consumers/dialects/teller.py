"""How one reader of a dialect sees a log: its fold is fed all of it, and it gets what is new."""

from events.frames import Frames
from protocol.dialects.deltas import Framing, Template
from protocol.dialects.fold import PLACES, Dialect, numbered
from protocol.schema import TERMINAL
from web import sse


class Teller:
    """A view for ``stream_run``. ``after``: the number of the last frame that the reader has.

    ``farewell`` follows the terminal event of the last of ``runs`` runs. Without ``framing`` the
    fold is only fed.
    """

    def __init__(
        self,
        fold: Dialect,
        framing: Framing | None,
        *,
        after: int = -1,
        runs: int = 1,
        farewell: bytes = b"",
    ) -> None:
        self._fold, self._framing = fold, framing
        self._after, self._left, self._farewell = after, runs, farewell
        self._templates: dict[bytes, Template] = {}

    def __call__(self, batch: Frames) -> bytes:
        """The bytes of a stretch of the log: never none, which some servers take for the end."""
        return b"".join(self.pieces(batch)) or sse.HEARTBEAT

    def pieces(self, batch: Frames) -> list[bytes]:
        """The bytes of each new frame; some have none."""
        pieces: list[bytes] = []
        for place, delta in enumerate(batch.deltas):
            template = self._templates.get(delta[0]) if delta else None
            if delta is None or template is None:
                pieces += self._fed(batch, place)
                continue
            number = (batch.first + place) * PLACES
            piece = template.fill(delta[1], number)
            if number > self._after:
                pieces.append(piece)
        return pieces

    def _fed(self, batch: Frames, place: int) -> list[bytes]:
        event, delta, framing = batch.event(place), batch.deltas[place], self._framing
        frames = numbered(self._fold, batch.first + place, event)
        pieces = [
            framing(number, frame) for number, frame in frames if framing and number > self._after
        ]
        if delta is None:
            self._templates.clear()
        elif (part := self._fold.part(event)) is not None:
            self._templates[delta[0]] = Template(part, framing)
        if event["type"] in TERMINAL:
            self._left -= 1
            if not self._left:
                pieces.append(self._farewell)
        return pieces
