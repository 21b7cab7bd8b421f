"""Durations as Go writes them: ``250ms``, ``1.5s``, ``2m30s``, ``1h0m5s``; and points in time."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smh])")
YEAR_10000 = 253_402_300_800_000
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds(text: str) -> float:
    """``2m30s`` → 150.0; a bare number is seconds. Raises ValueError."""
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text)) / 1_000
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    raise ValueError(f"{text!r} is not a duration; write 30s, 500ms or 1m30s.")


def text_of(milliseconds: int) -> str:
    """150000 → ``2m30s``; a negative duration, which a clock change can cause, is ``0s``."""
    if milliseconds <= 0:
        return "0s"
    if milliseconds < _UNITS["s"]:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds_text = f"{rest / 1_000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{seconds_text}"
    return f"{minutes}m{seconds_text}" if minutes else seconds_text


def timestamp_of(milliseconds: Any) -> str | None:
    """1 → ``1970-01-01T00:00:00.001Z``; None for other values, since agents can set it."""
    if not isinstance(milliseconds, int | float) or not 0 <= milliseconds < YEAR_10000:
        return None
    second, rest = divmod(int(milliseconds), 1_000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat().removesuffix("+00:00")
