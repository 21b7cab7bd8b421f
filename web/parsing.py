"""Frames of sockets: bounded by bytes before they are parsed; large ones are parsed in a thread.

Each team has one turn, and the process a few, so that no team's frames delay other sockets.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary, WeakValueDictionary

from django.conf import settings

from agui_project.errors import TooLarge
from backends import work
from backends.held import Held, Hold
from teams.limits import LimitReached

T = TypeVar("T")

SMALL = 16 * 1024
"""Characters that are parsed on the event loop."""
AT_ONCE = 2
VALUE_BYTES = 40
"""Memory of a parsed value in addition to its text."""
held = Held(process=128_000_000, team=32_000_000)
"""Frames of all sockets, from reading to their answer."""


class Turns:
    """Who parses now: one frame of a team, ``AT_ONCE`` of the process."""

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(AT_ONCE)
        self._teams: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    def of(self, team: UUID) -> asyncio.Lock:
        """The lock that the team's frames share."""
        return self._teams.setdefault(team, asyncio.Lock())


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def admit(team: UUID, size: int) -> Hold:
    """Count a frame of ``size`` characters; the caller closes the hold.

    Raises TooLarge for more than ``AGUI_MAX_BODY_BYTES``, LimitReached while the team's sockets,
    or all of the process, hold as much as they are allowed to.
    """
    refuse_size(size)
    hold = Hold(held, team)
    if not hold.take(size):
        raise LimitReached.of("socket_bytes", held.team, after=1.0)
    return hold


def refuse_size(size: int) -> None:
    """Raises TooLarge."""
    if size > (limit := settings.AGUI_MAX_BODY_BYTES):
        raise TooLarge(f"The frame is larger than {limit} bytes.", details={"limit": limit})


async def in_turn(team: UUID, text: str, parse: Callable[[], T], hold: Hold | None = None) -> T:
    """The result of ``parse``, which is charged to the team.

    A text of more than ``SMALL`` characters waits until the team is below its share, then for its
    turn, and is parsed in a thread.
    """
    if len(text) <= SMALL:
        return _parsed(team, text, parse, hold)
    turns = _turns.setdefault(asyncio.get_running_loop(), Turns())
    async with turns.of(team):
        while seconds := work.debt(team):
            await asyncio.sleep(seconds)
        async with turns.slots:
            return await asyncio.to_thread(_parsed, team, text, parse, hold)


def _parsed(team: UUID, text: str, parse: Callable[[], T], hold: Hold | None) -> T:
    values = text.count(",") + text.count("[") + text.count("{")
    work.charge(team, "parse", values + len(text) // work.BYTES)
    if hold is not None:
        hold.add(min(values, settings.AGUI_MAX_BODY_BYTES) * VALUE_BYTES)
    return parse()
