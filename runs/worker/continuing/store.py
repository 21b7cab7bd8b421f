"""Where the effects of a run's attempt are kept: the database, also while it restarts."""

import asyncio
import functools
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.effects import QUESTION
from events.writer.lease import Statement, joined
from runs.lifecycle.recovery.effects import Attempt, Begun, Lost

log = structlog.get_logger(__name__)
T = TypeVar("T")
Rows = list[Any]

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds between tries. An effect that was made must not be lost for a restart of PostgreSQL."""
MOST, MOST_CHARACTERS = 100, 1024 * 1024
"""Statements in one commit, whose rows are locked until it is done, and what they store; the last
one may be longer."""


class RunEffects:
    """The effects of one attempt; implements ``Store`` of ``runtimes/context/effects.py``."""

    def __init__(self, attempt: Attempt, *, inherits: bool) -> None:
        """``inherits``: the run answers a question about an effect of an earlier run."""
        self._attempt = attempt
        self._inherits = inherits

    async def earlier(self) -> tuple[set[str], int]:
        """As ``Store``. A run that begins, and inherits nothing, has none."""
        attempt = self._attempt
        if self._inherits:
            await _persistently(lambda: db(attempt.inherit, QUESTION))
        elif attempt.number == 1:
            return set(), 0
        return await _persistently(lambda: db(attempt.earlier))

    async def begin(self, key: str, digest: str, again: bool) -> Begun:
        """Store that the effect has started, unless it is done or unverified. Raises Lost."""
        attempt = self._attempt
        if await self._stored(key, attempt.beginning(key, digest)):
            return Begun("new", digest, None)
        return await _persistently(lambda: db(attempt.begin_again, key, digest, again=again))

    async def end(self, key: str, value: str | None, failed: bool) -> None:
        """Store the effect's end. Raises Lost."""
        if not await self._stored(key, self._attempt.ending(key, value, failed=failed)):
            raise Lost

    async def _stored(self, key: str, statement: Statement) -> Rows:
        place = (self._attempt.run, key)
        return await _persistently(lambda: _commits().add(place, statement))


async def _persistently(store: Callable[[], Awaitable[T]]) -> T:
    """Store, also while the database restarts."""
    for pause in PAUSES:
        try:
            return await store()
        except (OperationalError, InterfaceError) as error:
            log.warning("effect.stored_again", error=str(error))
            await asyncio.sleep(pause)
    return await store()


@dataclass(eq=False, slots=True)
class _Waiting:
    """A statement about one effect that waits for its commit."""

    place: tuple[UUID, str]
    """The run and the key: the order in which rows are locked."""
    statement: Statement
    done: "asyncio.Future[Rows]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def characters(self) -> int:
        values = self.statement.values.values()
        return sum(len(value) for value in values if isinstance(value, str))


class Commits:
    """The statements of the runs of one event loop; those of a team that wait share a commit.

    A lock for which a team's statement waits delays no other team.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, place: tuple[UUID, str], statement: Statement) -> Rows:
        """The rows that it returns, once it is committed."""
        lane, waits = scope.lane(), _Waiting(place, statement)
        if lane in self._waiting:
            self._waiting[lane].append(waits)
        else:
            self._waiting[lane] = deque([waits])
            task = asyncio.create_task(self._commit(lane))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await waits.done

    async def _commit(self, lane: str) -> None:
        waiting = self._waiting[lane]
        while waiting:
            several = _next(waiting)
            try:
                outcomes: Sequence[Rows | BaseException] = await db(_together, several)
            except BaseException as error:
                outcomes = [error] * len(several)
            for each, outcome in zip(several, outcomes, strict=True):
                if each.done.done():
                    continue  # Its run was stopped meanwhile.
                if isinstance(outcome, BaseException):
                    each.done.set_exception(outcome)
                else:
                    each.done.set_result(outcome)
        del self._waiting[lane]


def _next(waiting: deque[_Waiting]) -> list[_Waiting]:
    """Those of the next commit, in the order in which a takeover locks their rows.

    So none of both waits for the other for ever.
    """
    several: list[_Waiting] = []
    characters = 0
    while waiting and len(several) < MOST and characters < MOST_CHARACTERS:
        several.append(waiting.popleft())
        characters += several[-1].characters
    return sorted(several, key=lambda each: each.place)


def _together(several: Sequence[_Waiting]) -> list[Rows | BaseException]:
    """The rows of each in one transaction; in one each, rows or an error, if that fails."""
    try:
        return [*_rows([each.statement for each in several])]
    except DatabaseError as error:
        if len(several) == 1:
            return [error]
        log.warning("effect.stored_alone", statements=len(several), error=str(error))
    return [outcome for each in several for outcome in _together([each])]


def _rows(statements: Sequence[Statement]) -> list[Rows]:
    """What each returns. They are one message, and without a BEGIN one transaction."""
    message = joined(statements)
    with connection.cursor() as cursor:
        cursor.execute(message.sql, message.values)
        rows = [cursor.fetchall()]
        while len(rows) < len(statements):
            cursor.nextset()
            rows.append(cursor.fetchall())
        return rows


@functools.cache
def _commits_of(loop: asyncio.AbstractEventLoop) -> Commits:
    return Commits()


def _commits() -> Commits:
    return _commits_of(asyncio.get_running_loop())
