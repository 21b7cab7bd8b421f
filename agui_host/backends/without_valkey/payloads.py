"""The bell's messages as payloads of NOTIFY: ids, positions, and small events encrypted.

A line is a group or, for a journal, ``group first last final at``. A line after it that begins
with ``=`` has its epoch and its sealed events; earlier releases take such a line for the group of
another process.
"""

from collections.abc import Container, Iterable
from typing import Any
from uuid import UUID

from agui_host.backends import epochs
from agui_host.backends.postgres import clock
from agui_host.backends.without_valkey import sealed

Message = dict[str, Any]
LONGEST = 7900  # bytes; PostgreSQL refuses 8000
MOST = 8
"""Payloads of one statement; instead of more, everybody is asked to look."""
LOOK = "look"
JOURNAL = "journal."
END = 2**62
CARRIED = "="


def payloads(items: Iterable[tuple[str, Message]]) -> list[str]:
    """As few payloads as possible for the messages to these groups, or ``LOOK``."""
    items = list(items)
    texts = _packed(_line(group, message, carries=True) for group, message in items)
    if len(texts) > MOST:
        texts = _packed(_line(group, message, carries=False) for group, message in items)
    return texts if len(texts) <= MOST else [LOOK]


def _packed(texts: Iterable[str]) -> list[str]:
    lines: list[str] = []
    size = LONGEST
    for line in dict.fromkeys(texts):
        length = len(line.encode()) + 1
        if size + length > LONGEST:
            lines.append(line)
            size = length
        else:
            lines[-1] += f"\n{line}"
            size += length
    return lines


def messages(payload: str, groups: Container[str]) -> Iterable[tuple[str, Message]]:
    """The messages of a payload other than ``LOOK`` to these groups."""
    lines = payload.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        group, *positions = line.split(" ")
        if group not in groups:
            continue
        if not positions:
            yield group, {"type": "topic", "topic": group}
            continue
        try:
            first, last, final, at = positions
            message = _journal(group, int(first), int(last), float(at), final=final == "1")
            if following.startswith(CARRIED):
                epoch, events = following.removeprefix(CARRIED).split(" ")
                message["payloads"] = sealed.unseal(f"{line} {epoch}", events)
                message["epoch"] = int(epoch)
        except ValueError:  # Any role can NOTIFY, and another release can have other lines.
            message = look(group)
        yield group, message


def look(group: str) -> Message:
    """A message after which the group's listeners read for themselves."""
    if not group.startswith(JOURNAL):
        return {"type": "topic", "topic": group}
    return _journal(group, 0, END, clock.seconds(), final=False)


def _line(group: str, message: Message, *, carries: bool) -> str:
    if "journal" not in message:
        return group
    positions = f"{message['first']} {message['last']} {int(message['final'])}"
    line = f"{group} {positions} {message['at']:.6f}"
    epoch = message.get("epoch", epochs.FIRST)
    events = sealed.seal(f"{line} {epoch}", message["payloads"]) if carries else ""
    return f"{line}\n{CARRIED}{epoch} {events}" if events else line


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
