"""Frames: a stretch of one journal as readers get it, encoded once and shared by all of them."""

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from events.journal import Stretch
from protocol.encoding import Delta, delta_of, encode, type_of
from protocol.views import raw
from protocol.views.link import LinkView


class Frames:
    """Events ``first``..``last`` of a journal; ``payloads`` are their stored bytes.

    ``payloads`` is None if the bell carried positions only: a reader then reads Postgres.
    """

    def __init__(
        self, first: int, last: int, payloads: Sequence[bytes] | None, *, final: bool
    ) -> None:
        self.first = first
        self.last = last
        self.payloads = payloads
        self.final = final

    @classmethod
    def of_stretch(cls, stretch: Stretch) -> "Frames":
        """From a stretch of at least one event."""
        first, payloads = stretch.first, stretch.payloads
        return cls(first, first + len(payloads) - 1, payloads, final=stretch.final)

    def through(self, see: Callable[[bytes], bytes]) -> "Frames":
        """The same stretch with each event as one reader sees it."""
        if self.payloads is None:
            return self
        return Frames(self.first, self.last, list(map(see, self.payloads)), final=self.final)

    @cached_property
    def sse(self) -> bytes:
        """Server-sent events, ``id:`` being the ``seq``; made once for all readers."""
        return b"".join(
            [
                b"id: %d\ndata: %b\n\n" % (seq, payload)
                for seq, payload in enumerate(self.payloads or (), self.first)
            ]
        )

    @cached_property
    def rawless_sse(self) -> bytes:
        """``sse`` without RAW and ``rawEvent``; a bare ``id:`` moves the reader's cursor on."""
        numbered = enumerate(map(raw.payload, self.payloads or ()), self.first)
        return b"".join(
            [
                b"id: %d\n\n" % seq if payload is None else b"id: %d\ndata: %b\n\n" % (seq, payload)
                for seq, payload in numbered
            ]
        )

    @cached_property
    def types(self) -> frozenset[bytes]:
        """The types of the events, as bytes."""
        return frozenset(map(type_of, self.payloads or ()))

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The events as values, parsed once for all readers that need them; nobody changes them."""
        return [json.loads(payload) for payload in self.payloads or ()]

    @cached_property
    def deltas(self) -> list[Delta | None]:
        """For each event that is a plain delta its parts; None for the others."""
        return [delta_of(payload) for payload in self.payloads or ()]

    @cached_property
    def _parsed(self) -> dict[int, dict[str, Any]]:
        return {}

    def event(self, place: int) -> dict[str, Any]:
        """The event at a place of these, parsed once for all readers; nobody changes it."""
        if (event := self._parsed.get(place)) is None:
            event = self._parsed[place] = json.loads((self.payloads or ())[place])
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
        return b"".join([*frames, b"id: %d\ndata: %b\n\n" % (self.first + place, payload)])

    @cached_property
    def texts(self) -> list[str]:
        """The stored payloads as text."""
        return [payload.decode() for payload in self.payloads or ()]

    @cached_property
    def size(self) -> int:
        """The bytes of all payloads."""
        return sum(map(len, self.payloads or ()))
