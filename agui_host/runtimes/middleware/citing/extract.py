"""Finds citations in text: a quote and the source that it claims.

Two forms: ``"the quote" [source]``, and ``<cite source="…">the quote</cite>`` (or its quote in an
attribute: ``quote`` or ``full_phrase``). A source is a number, counted from 1, or a name.
"""

import re
import unicodedata
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

LONGEST = 4500
"""Characters of the longest citation that may be split while text streams in."""

SLICE = 100_000
MOST = 1_000
"""Citations taken from one text: far more than are verified."""

_FORMS = re.compile(
    r"""["“«](?P<quote>[^"“”«»\[\]]{3,2000})["”»][\s.,;:]{0,3}\[\^?(?P<label>[^\[\]\n]{1,100})\]"""
    r"""|<cite(?P<attributes>\s[^<>]{1,2400}?)?\s{0,9}(?:/>|>(?P<body>[^<>]{0,2000})</cite>)"""
)
_ATTRIBUTE = re.compile(r"""([\w-]{1,40})\s?=\s?(?:"([^"]*)"|'([^']*)')""")
_QUOTE = ("quote", "full_phrase", "fullphrase")
_SOURCE = ("source", "attachment_id", "attachmentid")
_PLAIN = str.maketrans("‘’‚“”„«»‐‑‒–—−", '\'\'\'"""""------')


class Citation(NamedTuple):
    """``key``: 16 hex digits of a hash of the other two, so that duplicates are found once."""

    key: str
    quote: str
    source: str | None

    def wire(self) -> dict[str, Any]:
        """The citation as JSON values."""
        return self._asdict()


def plain(text: str) -> str:
    """Text for comparison: without differences in case, spaces, quotes and dashes."""
    # In slices: one call occupies the interpreter for as long as it takes.
    slices = [text[at : at + SLICE] for at in range(0, len(text), SLICE)]
    return " ".join(" ".join(map(_folded, slices)).split()) if len(slices) > 1 else _folded(text)


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_PLAIN).casefold()
    return " ".join(folded.split())


def citations_in(text: str) -> Iterator[tuple[Citation, int]]:
    """Each complete citation, and where it ends."""
    for match in _FORMS.finditer(text):
        quote, label = match["quote"], match["label"]
        if quote is None:
            attributes = {name.lower(): a or b for name, a, b in _attributes(match)}
            quote = next((attributes[n] for n in _QUOTE if n in attributes), match["body"] or "")
            label = next((attributes[n] for n in _SOURCE if n in attributes), None)
        quote = " ".join(quote.split())
        if len(quote) >= 3:
            source = label.strip()[:200] or None if label else None
            digest = sha256(f"{plain(source or '')}\0{plain(quote)}".encode(errors="replace"))
            yield Citation(digest.hexdigest()[:16], quote, source), match.end()


def _attributes(match: "re.Match[str]") -> list[tuple[str, str, str]]:
    return _ATTRIBUTE.findall(match["attributes"] or "")


class Reader:
    """The text of one message as it comes; at most ``most`` bytes of it are kept."""

    def __init__(self, most: int) -> None:
        self.overflown = False
        self._most = most
        self._size = 0
        self._parts: list[str] = []
        self._tail = ""

    def feed(self, delta: str) -> list[Citation]:
        """The citations that are complete with this piece."""
        if self.overflown:
            return []
        self._size += len(delta) if delta.isascii() else len(delta.encode(errors="replace"))
        if self._size > self._most:
            self.overflown = True
            self._parts, self._tail = [], ""
            return []
        self._parts.append(delta)
        self._tail += delta
        if "]" not in delta and ">" not in delta:
            if len(self._tail) > 2 * LONGEST:
                self._tail = self._tail[-LONGEST:]
            return []
        matches = list(islice(citations_in(self._tail), MOST))
        self._tail = self._tail[matches[-1][1] if matches else 0 :][-LONGEST:]
        return [citation for citation, _ in matches]

    def end(self) -> list[Citation]:
        """The citations of the whole text."""
        text = "".join(self._parts)
        self._parts, self._tail = [], ""
        return [citation for citation, _ in islice(citations_in(text), MOST)]
