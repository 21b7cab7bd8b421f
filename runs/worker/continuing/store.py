"""Where the effects of a run's attempt are kept: the database, also while it restarts."""

import asyncio
import contextvars
import functools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.effects import QUESTION
from runs.lifecycle.recovery.effects import Attempt, Begun

log = structlog.get_logger(__name__)

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds between tries. An effect that was made must not be lost for a restart of PostgreSQL."""
MOST = 100
"""Statements in one commit: their rows are locked until it is done."""


class RunEffects:
    """The effects of one attempt; implements ``Store`` of ``runtimes/context/effects.py``."""

    def __init__(self, attempt: Attempt, *, inherits: bool) -> None:
        """``inherits``: the run answers a question about an effect of an earlier run."""
        self._attempt = attempt
        self._inherits = inherits

    async def begin(self, key: str, digest: str, again: bool) -> Begun:
        """Store that the effect has started, unless it is done or unverified."""
        if self._inherits:
            await self._stored("", lambda: self._attempt.inherit(QUESTION))
            self._inherits = False
        begun: Begun = await self._stored(
            key, lambda: self._attempt.begin(key, digest, again=again)
        )
        return begun

    async def end(self, key: str, value: str | None, failed: bool) -> None:
        """Store the effect's end."""
        await self._stored(key, lambda: self._attempt.end(key, value, failed=failed))

    async def _stored(self, key: str, call: Callable[[], Any]) -> Any:
        for pause in PAUSES:
            try:
                return await _commits().add((self._attempt.run, key), call)
            except (OperationalError, InterfaceError) as error:
                log.warning("effect.stored_again", error=str(error))
                await asyncio.sleep(pause)
        return await _commits().add((self._attempt.run, key), call)


@dataclass(eq=False, slots=True)
class _Call:
    """A statement about one effect, in the context of its run."""

    place: tuple[UUID, str]
    """The run and the key: the order in which rows are locked."""
    call: Callable[[], Any]
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    done: "asyncio.Future[Any]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Commits:
    """The statements of the runs of one event loop; those of a team that wait share a commit.

    A lock for which a team's statement waits delays no other team.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Call]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, place: tuple[UUID, str], call: Callable[[], Any]) -> Any:
        """The result of ``call`` in a thread, once it is committed."""
        lane, waits = scope.lane(), _Call(place, call)
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
            calls = [waiting.popleft() for _ in range(min(MOST, len(waiting)))]
            try:
                outcomes: Sequence[Any] = await db(_together, calls)
            except BaseException as error:
                outcomes = [error] * len(calls)
            for each, outcome in zip(calls, outcomes, strict=True):
                if each.done.done():
                    continue  # Its run was stopped meanwhile.
                if isinstance(outcome, BaseException):
                    each.done.set_exception(outcome)
                else:
                    each.done.set_result(outcome)
        del self._waiting[lane]


def _together(calls: Sequence[_Call]) -> list[Any]:
    """What each call returns, or raises, in one transaction; in one each if that fails."""
    if len(calls) > 1:
        outcomes: dict[int, Any] = {}
        try:
            with transaction.atomic():
                # A takeover locks in the same order, so none of both waits for the other for ever.
                for each in sorted(calls, key=lambda each: each.place):
                    outcomes[id(each)] = _outcome(each, each.context)
            return [outcomes[id(each)] for each in calls]
        except DatabaseError as error:
            log.warning("effect.stored_alone", statements=len(calls), error=str(error))
    alone = []
    for each in calls:
        try:
            alone.append(_outcome(each, each.context.copy()))
        except DatabaseError as error:
            alone.append(error)
    return alone


def _outcome(each: _Call, context: contextvars.Context) -> Any:
    """Its result or, without a failure of the database, what it has raised."""
    try:
        return context.run(each.call)
    except DatabaseError:
        raise
    except Exception as error:
        return error


@functools.cache
def _commits_of(loop: asyncio.AbstractEventLoop) -> Commits:
    return Commits()


def _commits() -> Commits:
    return _commits_of(asyncio.get_running_loop())
