"""The one reader of whole numbers that callers write as text: in queries, headers, forms."""

from agui_host.protocol.ids import UNNAMED, Position

LONGEST = 18
"""Digits: a longer text is no number here, and Python's ``int`` refuses or takes long for many."""

LARGEST = 10**LONGEST - 1
"""The largest number that ``whole`` reads."""


def whole(text: str, least: int, most: int) -> int | None:
    """The number from ``least`` to ``most`` that ASCII digits write; None for anything else."""
    if not text.isascii() or not text.isdecimal() or len(text) > LONGEST:
        return None
    number = int(text)
    return number if least <= number <= most else None


def position(text: str, most: int) -> Position | None:
    """The place in a log that a cursor names, as ``seq`` or ``epoch-seq``; None if it is none."""
    epoch, hyphen, seq = text.rpartition("-")
    number, of = whole(seq, 0, most), whole(epoch, 1, LARGEST) if hyphen else UNNAMED
    return None if number is None or of is None else Position(number, of)
