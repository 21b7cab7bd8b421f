"""The bell's messages as payloads of NOTIFY: ids and positions, never content.

Any role that can connect to the database can LISTEN. So events stay out of a payload, also those
that are small; a reader gets them from its journal.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from backends.postgres import clock

Message = dict[str, Any]
LONGEST = 7900  # bytes; PostgreSQL refuses 8000
MOST = 8
"""Payloads of one statement; instead of more, everybody is asked to look."""
LOOK = "look"
JOURNAL = "journal."
END = 2**62


def payloads(items: Iterable[tuple[str, Message]]) -> list[str]:
    """As few payloads as possible for the messages to these groups, or ``LOOK``."""
    lines: list[str] = []
    size = LONGEST
    for line in dict.fromkeys(_line(group, message) for group, message in items):
        length = len(line.encode()) + 1
        if size + length > LONGEST:
            lines.append(line)
            size = length
        else:
            lines[-1] += f"\n{line}"
            size += length
    return lines if len(lines) <= MOST else [LOOK]


def messages(payload: str) -> Iterable[tuple[str, Message]]:
    """Groups and messages of a payload other than ``LOOK``."""
    for line in payload.split("\n"):
        group, *positions = line.split(" ")
        if not positions:
            yield group, {"type": "topic", "topic": group}
            continue
        first, last, final, at = positions
        yield group, _journal(group, int(first), int(last), float(at), final=final == "1")


def look(group: str) -> Message:
    """A message after which the group's listeners read for themselves."""
    if not group.startswith(JOURNAL):
        return {"type": "topic", "topic": group}
    return _journal(group, 0, END, clock.seconds(), final=False)


def _line(group: str, message: Message) -> str:
    if "journal" not in message:
        return group
    positions = f"{message['first']} {message['last']} {int(message['final'])}"
    return f"{group} {positions} {message['at']:.6f}"


def _journal(group: str, first: int, last: int, at: float, *, final: bool) -> Message:
    return {
        "type": "journal",
        "journal": UUID(group.removeprefix(JOURNAL)).bytes,
        "first": first,
        "last": last,
        "final": final,
        "at": at,
        "payloads": None,
    }
