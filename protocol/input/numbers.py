"""The one reader of whole numbers that callers write as text: in queries, headers, forms."""

LONGEST = 18
"""Digits: what has more is no number here, and Python's ``int`` refuses or takes long for many."""

LARGEST = 10**LONGEST - 1
"""The largest number that ``whole`` reads."""


def whole(text: str, least: int, most: int) -> int | None:
    """The number from ``least`` to ``most`` that ASCII digits write; None for anything else."""
    if not text.isascii() or not text.isdecimal() or len(text) > LONGEST:
        return None
    number = int(text)
    return number if least <= number <= most else None
