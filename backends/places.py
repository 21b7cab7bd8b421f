"""Places: a semaphore of one event loop for which teams take turns."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backends.postgres import scope
from backends.postgres.lanes import HOST


class Places:
    """``most`` places; one team leaves at least one of them to others."""

    def __init__(self, most: int) -> None:
        self._free, self._share = most, max(1, most - 1)
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold a place, once it is the current team's turn."""
        team = scope.lane()
        if self._has_room(team) and team not in self._waiting:
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

    def _has_room(self, team: str) -> bool:
        return self._free > 0 and (team == HOST or self._held[team] < self._share)

    def _take(self, team: str) -> None:
        self._free -= 1
        self._held[team] += 1

    def _leave(self, team: str) -> None:
        self._free += 1
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
            elif self._has_room(team):
                self._take(team)
                turns.popleft().set_result(None)
                self._waiting.move_to_end(team)
                return True
        return False
