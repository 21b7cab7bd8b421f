"""Bytes under way: how much of tenants' data this process holds at once, in all and for a team."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

import structlog

from agui_host.protocol.errors import RunErrorCode, RunFailed

log = structlog.get_logger(__name__)
FREE = 1_000_000
"""Memory of a run that is not counted: most runs never get into a ledger."""
LIVE = (512_000_000, 192_000_000)
"""Memory that live runs keep, of a process and of a team."""
PATIENCE = 60.0
"""Seconds for which a run waits until others of its team have ended."""


class Held:
    """A ledger with two bounds, in bytes. Safe in threads."""

    def __init__(self, process: int, team: int) -> None:
        self.process, self.team = process, team
        self._by_team: Counter[str] = Counter()
        self._all = 0
        # A hold can be closed by the end of its owner, at any moment.
        self._lock = threading.RLock()

    @property
    def bytes(self) -> int:
        """All that is held now."""
        return self._all

    def fits(self, team: object, size: int) -> bool:
        """Whether ``size`` more bytes are within both bounds.

        A size above a bound fits while nothing else is held, so a large log can be sent.
        """
        own = self._by_team.get(str(team), 0)
        return (not self._all or self._all + size <= self.process) and (
            not own or own + size <= self.team
        )

    def of(self, team: object) -> int:
        """The bytes that are held for a team now."""
        return self._by_team.get(str(team), 0)

    def take(self, team: object, size: int) -> bool:
        """Count ``size`` bytes if they fit; False if they do not."""
        with self._lock:
            if not self.fits(team, size):
                return False
            self._count(str(team), size)
            return True

    def add(self, team: object, size: int) -> None:
        """Count bytes that are there already, whether or not they fit."""
        with self._lock:
            self._count(str(team), size)

    def give_back(self, team: object, size: int) -> None:
        """The bytes are no longer held."""
        self.add(team, -size)

    def _count(self, team: str, size: int) -> None:
        self._all += size
        self._by_team[team] += size
        if self._by_team[team] <= 0:
            del self._by_team[team]


class Hold:
    """What one message or file takes of a ledger; ``close`` gives all of it back, once."""

    __slots__ = ("_held", "_size", "_team")

    def __init__(self, ledger: Held, team: object) -> None:
        self._held, self._team, self._size = ledger, team, 0

    def take(self, size: int) -> bool:
        """Whether ``size`` more bytes fit; if so they are counted."""
        taken = self._held.take(self._team, size)
        self._size += size if taken else 0
        return taken

    def add(self, size: int) -> None:
        """Count bytes that are there already."""
        self._held.add(self._team, size)
        self._size += size

    def close(self) -> None:
        """Give it back."""
        self._held.give_back(self._team, self._size)
        self._size = 0


class Live:
    """A ledger of the memory that live runs keep from one event to the next. For one event loop.

    Above a bound the oldest run there continues, and the others wait for its end: so a run that is
    alone can be as large as the limits of one run let it be. A process above its bound keeps only
    teams waiting that have more than an equal part of it.
    """

    def __init__(self, process: int, team: int, patience: float = PATIENCE) -> None:
        self.process, self.team, self.patience = process, team, patience
        self.by_team: Counter[str] = Counter()
        self.bytes = 0
        self._runs: dict[Memory, int] = {}
        self._waiting: list[asyncio.Event] = []

    @property
    def waiting(self) -> int:
        """How many runs wait."""
        return len(self._waiting)

    def count(self, run: "Memory", size: int) -> None:
        """A run keeps ``size`` bytes now."""
        change = size - self._runs.get(run, 0)
        self.bytes += change
        self.by_team[run.team] += change
        if size:
            self._runs[run] = size
        else:
            self._runs.pop(run, None)
        if not self.by_team[run.team]:
            del self.by_team[run.team]
        if change < 0:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                each.set()

    def is_over(self, run: "Memory", more: int) -> bool:
        """Whether a run has to wait before it keeps ``more`` bytes."""
        team = self.by_team.get(run.team, 0) + more
        if team > self.team and self._is_preceded(run, run.team):
            return True
        if self.bytes + more <= self.process:
            return False
        teams = len(self.by_team) + (run.team not in self.by_team)
        return team > self.process // teams and self._is_preceded(run)

    async def change(self, seconds: float) -> None:
        """Wait until a run keeps less. Raises TimeoutError."""
        self._waiting.append(less := asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await less.wait()
        finally:
            if less in self._waiting:
                self._waiting.remove(less)

    def _is_preceded(self, run: "Memory", team: str = "") -> bool:
        oldest = next((each for each in self._runs if each.team == (team or each.team)), run)
        return oldest is not run


class Memory:
    """What one live run keeps in memory, by part: its state, its input, texts it has half read."""

    def __init__(self, ledger: Live, team: object, run: object = "") -> None:
        self._ledger, self.team, self.run = ledger, str(team), str(run)
        self._parts: dict[object, int] = {}
        self._sum = self._counted = 0
        self.exact: Callable[[], Awaitable[None]] | None = None
        """Replaces estimates by exact numbers, before a run waits for them."""

    def note(self, part: object, size: int) -> None:
        """A part takes ``size`` bytes now."""
        before = self._parts.get(part, 0)
        if size == before:
            return
        if size:
            self._parts[part] = size
        else:
            del self._parts[part]
        self._sum += size - before
        counted = self._sum if self._sum > FREE else 0
        if counted != self._counted:
            self._counted = counted
            self._ledger.count(self, counted)

    def of(self, part: object) -> int:
        """The bytes of a part."""
        return self._parts.get(part, 0)

    async def room(self, more: int = 0) -> None:
        """Return once the run may keep ``more`` bytes. Raises RunFailed(EVENT_TOO_LARGE)."""
        ledger = self._ledger
        if self._sum + more <= FREE or not ledger.is_over(self, more):
            return
        if self.exact is not None:
            await self.exact()
        clock = asyncio.get_running_loop().time
        until = clock() + ledger.patience
        if ledger.is_over(self, more):
            megabytes = ledger.by_team[self.team] // 1_000_000
            log.warning("run.waits_for_memory", run=self.run, team=self.team, megabytes=megabytes)
        while ledger.is_over(self, more):
            try:
                await ledger.change(until - clock())
            except TimeoutError:
                raise RunFailed(RunErrorCode.EVENT_TOO_LARGE, _too_much(ledger)) from None

    def close(self) -> None:
        """The run has ended."""
        self._parts.clear()
        self._sum = self._counted = 0
        self._ledger.count(self, 0)


def _too_much(ledger: Live) -> str:
    return (
        f"The team's live runs keep more than {ledger.team // 1_000_000} MB of state and events "
        f"in one worker, or all runs more than {ledger.process // 1_000_000} MB. Keep less in the "
        "state, send smaller events, or run fewer such agents at once."
    )
