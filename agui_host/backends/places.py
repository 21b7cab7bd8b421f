"""Places: a semaphore of one event loop for which teams take turns."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.lanes import HOST


class Places:
    """``most`` places; one team leaves at least one of them to others."""

    def __init__(self, most: int) -> None:
        self.free, self._share = most, max(1, most - 1)
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def taken_by(self, team: str) -> int:
        """The places that the team holds."""
        return self._held[team]

    def waiting(self, team: str) -> int:
        """How many of the team wait for a place."""
        return sum(not turn.done() for turn in self._waiting.get(team, ()))

    def has_room(self, team: str) -> bool:
        """Whether the team can take a place now."""
        return self.free > 0 and (team == HOST or self.taken_by(team) < self._share)

    @asynccontextmanager
    async def taken(self, team: str | None = None) -> AsyncIterator[None]:
        """Hold a place, once it is the turn of the team, by default the current one."""
        team = scope.lane() if team is None else team
        if self.has_room(team) and team not in self._waiting:
            self._take(team)
        else:
            await self._turn(team)
        try:
            yield
        finally:
            self._leave(team)

    async def _turn(self, team: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(team, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(team)
            raise

    def _take(self, team: str) -> None:
        self.free -= 1
        self._held[team] += 1

    def _leave(self, team: str) -> None:
        self.free += 1
        self._held[team] -= 1
        if not self._held[team]:
            del self._held[team]
        while self._give():
            pass

    def _give(self) -> bool:
        """Give a free place to the team whose turn it is, which then goes to the end."""
        for team, turns in list(self._waiting.items()):
            while turns and turns[0].done():
                turns.popleft()  # Its task was cancelled.
            if not turns:
                del self._waiting[team]
            elif self.has_room(team):
                self._take(team)
                turns.popleft().set_result(None)
                self._waiting.move_to_end(team)
                return True
        return False
