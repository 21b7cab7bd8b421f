"""Cuts a document into pieces that one search can find and one agent can read. No database."""

from collections.abc import Iterable, Iterator

from agui_host.runtimes.builtin.doc_search import split

MOST = 1_500
"""Characters of a piece."""
Piece = tuple[str, str]
"""The heading above a piece ("" without one), and its text."""


def pieces(title: str, media_type: str, text: str) -> Iterator[Piece]:
    """The pieces of a document in order; none is empty or longer than MOST and a CSV's header."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if media_type == "text/csv":
        yield from _rows(text)
    elif media_type == "text/markdown":
        for section in split(title, text):
            heading = "" if section.heading == title else section.heading[:500]
            yield from ((heading, piece) for piece in _packed(_fitting(section.body)))
    else:
        yield from (("", piece) for piece in _packed(_fitting(text)))


def _rows(text: str) -> Iterator[Piece]:
    """The lines of a table, each piece below the table's first line."""
    header, _, rest = text.strip("\n").partition("\n")
    header = header[: MOST // 2]
    bodies = list(_packed(_fitting(rest)))
    yield from (("", f"{header}\n{body}") for body in bodies)
    if not bodies and header.strip():
        yield "", header


def _fitting(text: str) -> Iterator[str]:
    """Its lines; a too long one is cut, between words if it has any."""
    for line in text.split("\n"):
        at = 0
        while len(line) - at > MOST:
            space = line.rfind(" ", at + MOST // 2, at + MOST)
            cut = space if space > 0 else at + MOST
            yield line[at:cut]
            at = cut + len(line[cut : cut + MOST]) - len(line[cut : cut + MOST].lstrip())
        yield line[at:]


def _packed(lines: Iterable[str]) -> Iterator[str]:
    """As many lines to a piece as fit; one more than half full ends with its paragraph."""
    lines_here: list[str] = []
    size = 0
    for line in lines:
        full = size + len(line) + 1 > MOST or (not line.strip() and size > MOST // 2)
        if full and lines_here:
            yield from _if_not_blank("\n".join(lines_here))
            lines_here, size = [], 0
        lines_here.append(line)
        size += len(line) + 1
    yield from _if_not_blank("\n".join(lines_here))


def _if_not_blank(piece: str) -> Iterator[str]:
    if piece.strip():
        yield piece.strip("\n")
