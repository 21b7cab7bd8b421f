"""Frames: a stretch of one journal as readers get it, encoded once and shared by all of them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Delta, deltas_of, encode, type_of
from agui_host.protocol.ids import FIRST_EPOCH, Position, numbering
from agui_host.protocol.views import raw
from agui_host.protocol.views.link import LinkView
from events.journal import Stretch


class Frames:
    """Events ``first``..``last`` of a journal; ``payloads`` are their stored bytes.

    ``payloads`` is None if the bell carried positions only: a reader then reads Postgres. All were
    written in one ``epoch``, which is part of their ids.
    """

    def __init__(
        self,
        first: int,
        last: int,
        payloads: Sequence[bytes] | None,
        *,
        final: bool,
        epoch: int = FIRST_EPOCH,
    ) -> None:
        self.first = first
        self.last = last
        self.payloads = payloads
        self.final = final
        self.epoch = epoch

    @classmethod
    def of_stretch(cls, stretch: Stretch) -> "Frames":
        """From a stretch of at least one event."""
        first, payloads = stretch.first, stretch.payloads
        last = first + len(payloads) - 1
        return cls(first, last, payloads, final=stretch.final, epoch=stretch.epoch)

    def at(self, seq: int) -> Position:
        """The cursor of an event."""
        return Position(seq, self.epoch)

    def through(self, see: Callable[[bytes], bytes]) -> "Frames":
        """The same stretch with each event as one reader sees it."""
        if self.payloads is None:
            return self
        payloads = list(map(see, self.payloads))
        return Frames(self.first, self.last, payloads, final=self.final, epoch=self.epoch)

    @cached_property
    def numbering(self) -> bytes:
        """How the events' ids are made of their numbers."""
        return numbering(self.epoch)

    @cached_property
    def sse(self) -> bytes:
        """Server-sent events, ``id:`` being the cursor; made once for all readers."""
        form = b"id: %b\ndata: %%b\n\n" % self.numbering
        return b"".join(
            [form % (seq, payload) for seq, payload in enumerate(self.payloads or (), self.first)]
        )

    @cached_property
    def rawless_sse(self) -> bytes:
        """``sse`` without RAW and ``rawEvent``; a bare ``id:`` moves the reader's cursor on.

        It is a line of the next frame: many readers take a frame without data for an event.
        """
        numbered = enumerate(map(raw.payload, self.payloads or ()), self.first)
        bare = b"id: %b\n" % self.numbering
        form = bare + b"data: %b\n\n"
        return b"".join(
            [bare % seq if payload is None else form % (seq, payload) for seq, payload in numbered]
        )

    @cached_property
    def types(self) -> frozenset[bytes]:
        """The types of the events, as bytes."""
        return frozenset(map(type_of, self.payloads or ()))

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The events as values, parsed once for all readers that need them; do not change them."""
        return [patient_json.loads(payload) for payload in self.payloads or ()]

    @cached_property
    def deltas(self) -> list[Delta | None]:
        """For each event that is a plain delta its parts; None for the others."""
        return deltas_of(self.payloads or ())

    @cached_property
    def _parsed(self) -> dict[int, dict[str, Any]]:
        return {}

    def event(self, place: int) -> dict[str, Any]:
        """The event at a place of these, parsed once for all readers; it must not be changed."""
        if (event := self._parsed.get(place)) is None:
            payload = (self.payloads or ())[place]
            event = self._parsed[place] = patient_json.loads(payload)
        return event

    def linked_piece(self, view: LinkView, place: int) -> bytes:
        """Server-sent events for a link's reader in place of one event; empty if it is left out.

        Of several frames for one event only the last has an ``id``: a reader cut off between them
        gets all of them again.
        """
        event = self.event(place)
        visible = view.show(event)
        if not visible:
            return b""
        *before, last = visible
        payload = (self.payloads or ())[place] if last is event else encode(last)
        frames = [b"data: %b\n\n" % encode(each) for each in before]
        id_ = self.numbering % (self.first + place)
        return b"".join([*frames, b"id: %b\ndata: %b\n\n" % (id_, payload)])

    @cached_property
    def texts(self) -> list[str]:
        """The stored payloads as text."""
        return [payload.decode() for payload in self.payloads or ()]

    @cached_property
    def size(self) -> int:
        """The bytes of all payloads."""
        return sum(map(len, self.payloads or ()))
