"""Deltas passed on as they are stored: most events of a log are pieces of a text or of arguments.

The frames of one part's deltas differ in the delta and the number alone. So one of them becomes a
template, into which the stored JSON of each further delta is copied: nothing is parsed or encoded.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from agui_host.protocol.fold.account import Heard
from agui_host.protocol.wire.room import Text

Frame = dict[str, Any]
Framing = Callable[[int, Frame], bytes]
"""The bytes of a frame, from its number."""

_TEXT = secrets.token_hex(16)
_NUMBER = 10**17 + secrets.randbelow(10**17)
"""The placeholders of delta and number while a template is made; no frame contains them."""


class Part(NamedTuple):
    """The form of an open part's deltas; it holds until an event that is no delta.

    ``frame`` makes the frame of a delta, None if deltas have none here; ``text`` is where they add
    up, if anywhere, and ``heard`` the fold's account of them.
    """

    frame: Callable[[str], Frame] | None = None
    text: Text | None = None
    heard: Heard | None = None

    def add(self, delta: str) -> list[Frame]:
        """Take the next delta; its frame, if it has one."""
        frames = [] if self.frame is None else [self.frame(delta)]
        if self.text is not None:
            self.text.add(delta)
        if self.heard is not None:
            self.heard.add(delta.encode("utf-8", "surrogatepass"))
        return frames


class Template:
    """The frame of a part's deltas as bytes, with a gap for the delta and one for the number."""

    def __init__(self, part: Part, framing: Framing | None) -> None:
        """Without ``framing`` deltas only add up, and have no bytes."""
        self._text, self._heard = part.text, part.heard
        self._format, self._numbered = b"", False
        if framing is not None and part.frame is not None:
            made = framing(_NUMBER, part.frame(_TEXT)).replace(b"%", b"%%")
            # The delta comes first: nothing that has a number ends with the delta.
            head, tail = made.split(b'"%b"' % _TEXT.encode())
            before, *after = tail.split(b"%d" % _NUMBER)
            self._numbered = bool(after)
            self._format = b"%d".join([head + b"%b" + before, *after])

    def fill(self, deltas: Sequence[bytes], numbers: Iterable[int]) -> list[bytes]:
        """The bytes of the frames for consecutive deltas of the part, which are JSON texts."""
        self.add(deltas)
        form = self._format
        if not form:
            return []
        if self._numbered:
            return [form % pair for pair in zip(deltas, numbers, strict=False)]
        return [form % delta for delta in deltas]

    def add(self, deltas: Sequence[bytes]) -> None:
        """Take consecutive deltas of the part, which are JSON texts, without making their bytes."""
        if self._heard is None and self._text is None:
            return
        # All at once: most of the time goes to the calls for each.
        whole = b"".join([delta[1:-1] for delta in deltas])
        if b"\\" in whole:
            whole = json.loads(b'"%b"' % whole).encode()
        if self._heard is not None:
            self._heard.add(whole)
        if self._text is not None:
            self._text.add(whole.decode())
