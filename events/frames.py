"""Frames: a stretch of one journal as readers get it, encoded once and shared by all of them."""

from collections.abc import Sequence
from functools import cached_property

from events import raw
from events.journal import TERMINAL, Page


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
    def texts(self) -> list[str]:
        """One WebSocket text frame per event, made once for all readers."""
        return [payload.decode() for payload in self.payloads or ()]

    @cached_property
    def size(self) -> int:
        """Bytes of payload."""
        return sum(map(len, self.payloads or ()))
