"""Frames: a stretch of one journal as readers get it, encoded once and shared by all of them."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from events.journal import Page
from protocol.encoding import encode, type_of
from protocol.schema import TERMINAL
from protocol.views import raw
from protocol.views.link import LinkView


class Frames:
    """Events ``first``..``last`` of a journal; ``payloads`` are their stored bytes.

    ``payloads`` is None where the bell carried positions only: a reader then reads Postgres.
    """

    def __init__(
        self, first: int, last: int, payloads: Sequence[bytes] | None, *, final: bool
    ) -> None:
        self.first = first
        self.last = last
        self.payloads = payloads
        self.final = final

    @classmethod
    def of_page(cls, page: Page) -> "Frames":
        """The rows of a page, which has at least one."""
        first, (last, last_type, _) = page.rows[0][0], page.rows[-1]
        payloads = [payload.encode() for _, _, payload in page.rows]
        return cls(first, last, payloads, final=last_type in TERMINAL)

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
        """The same without RAW and ``rawEvent``; a bare ``id:`` moves the reader's cursor on."""
        said = enumerate(map(raw.payload, self.payloads or ()), self.first)
        return b"".join(
            [
                b"id: %d\n\n" % seq if payload is None else b"id: %d\ndata: %b\n\n" % (seq, payload)
                for seq, payload in said
            ]
        )

    @cached_property
    def types(self) -> frozenset[bytes]:
        """The types of its events."""
        return frozenset(map(type_of, self.payloads or ()))

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The events as values, parsed once for all readers that need them; nobody changes them."""
        return [json.loads(payload) for payload in self.payloads or ()]

    def linked(self, view: LinkView, after: int = 0) -> bytes:
        """Server-sent events for a reader with a link, who has seen those up to ``after``.

        A comment with its number stands for an event that is left out. Of several frames that one
        event becomes only the last has an ``id``: who was cut off between them gets all again.
        """
        found, passed = [], 0
        for seq, (payload, event) in enumerate(
            zip(self.payloads or (), self.events, strict=True), self.first
        ):
            shown = view.show(event)
            if seq <= after or not shown:
                passed = seq
                continue
            passed = 0
            *before, last = shown
            found += [b"data: %b\n\n" % encode(each) for each in before]
            found.append(
                b"id: %d\ndata: %b\n\n" % (seq, payload if last is event else encode(last))
            )
        if passed:
            found.append(b": %d\n\n" % passed)
        return b"".join(found)

    @cached_property
    def texts(self) -> list[str]:
        """One WebSocket text frame per event, made once for all readers."""
        return [payload.decode() for payload in self.payloads or ()]

    @cached_property
    def size(self) -> int:
        """Bytes of payload."""
        return sum(map(len, self.payloads or ()))
