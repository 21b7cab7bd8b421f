"""How one reader of a dialect sees a log: its fold is fed all of it, and it gets the new frames."""

from collections.abc import Sequence
from itertools import count

from agui_host.protocol.encoding import Delta
from agui_host.protocol.schema import TERMINAL
from agui_host.protocol.wire.deltas import Framing, Template
from agui_host.protocol.wire.fold import PLACES, Dialect, numbered
from agui_host.web import sse
from events.frames import Frames


class Teller:
    """A view for ``stream_run``. ``after``: the number of the last frame that the reader has.

    ``farewell`` follows the terminal event of the last of ``runs`` runs. ``skip``: how many frames
    the reader has, if it counts them. Without ``framing`` the fold is only fed.
    """

    def __init__(
        self,
        fold: Dialect,
        framing: Framing | None,
        *,
        after: int = -1,
        runs: int = 1,
        farewell: bytes = b"",
        skip: int = 0,
    ) -> None:
        self._fold, self._framing = fold, framing
        self._after, self._left, self._farewell = after, runs, farewell
        self._skip = skip
        self._templates: dict[bytes, Template] = {}

    def __call__(self, batch: Frames) -> bytes:
        """The bytes of a stretch of the log: never none, which some servers take for the end."""
        return b"".join(self.pieces(batch)) or sse.HEARTBEAT

    def pieces(self, batch: Frames) -> list[bytes]:
        """The bytes of each new frame; some have none."""
        pieces: list[bytes] = []
        place, end = 0, len(batch.deltas)
        while place < end:
            delta = batch.deltas[place]
            template = self._templates.get(delta[0]) if delta else None
            if delta is None or template is None:
                pieces += self._fed(batch, place)
                place += 1
                continue
            deltas = together(batch.deltas, place)
            number = (batch.first + place) * PLACES
            made = template.fill(deltas, count(number, PLACES))
            had = max(0, (self._after - number) // PLACES + 1)
            pieces += self._new(made[had:] if had else made)
            place += len(deltas)
        return pieces

    def _new(self, pieces: list[bytes]) -> list[bytes]:
        """These, but for pieces that the reader has by its count; some pieces are no frames."""
        if not self._skip:
            return pieces
        had = [piece for piece in pieces if piece][: self._skip]
        self._skip -= len(had)
        return pieces[len(had) :]

    def _fed(self, batch: Frames, place: int) -> list[bytes]:
        event, delta, framing = batch.event(place), batch.deltas[place], self._framing
        frames = numbered(self._fold, batch.first + place, event)
        pieces = self._new(
            [framing(number, frame) for number, frame in frames if framing and number > self._after]
        )
        if delta is None:
            self._templates.clear()
        elif (part := self._fold.part(event)) is not None:
            self._templates[delta[0]] = Template(part, framing)
        if event["type"] in TERMINAL:
            self._left -= 1
            if not self._left:
                pieces.append(self._farewell)
        return pieces


def together(deltas: Sequence[Delta | None], place: int, end: int | None = None) -> list[bytes]:
    """The texts of the deltas from a place, and before ``end``, that belong to the same part."""
    texts: list[bytes] = []
    part = deltas[place]
    for following in range(place, len(deltas) if end is None else min(end, len(deltas))):
        delta = deltas[following]
        if delta is None or part is None or delta[0] != part[0]:
            break
        texts.append(delta[1])
    return texts
