"""Where the effects of a run's attempt are kept: the database, also while it restarts."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.effects import QUESTION
from runs.lifecycle.recovery.effects import Attempt, Begun

T = TypeVar("T")

log = structlog.get_logger(__name__)

PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds between tries. An effect that was made must not be lost for a restart of PostgreSQL."""


class RunEffects:
    """The effects of one attempt; implements ``Store`` of ``runtimes/context/effects.py``."""

    def __init__(self, attempt: Attempt, *, inherits: bool) -> None:
        """``inherits``: the run answers a question about an effect of an earlier run."""
        self._attempt = attempt
        self._inherits = inherits

    async def begin(self, key: str, digest: str, again: bool) -> Begun:
        """Store that the effect has started, unless it is done or unverified."""
        if self._inherits:
            await _stored(lambda: self._attempt.inherit(QUESTION))
            self._inherits = False
        return await _stored(lambda: self._attempt.begin(key, digest, again=again))

    async def end(self, key: str, value: str | None, failed: bool) -> None:
        """Store the effect's end."""
        await _stored(lambda: self._attempt.end(key, value, failed=failed))


async def _stored(call: Callable[[], T]) -> T:
    for pause in PAUSES:
        try:
            return await db(call)
        except (OperationalError, InterfaceError) as error:
            log.warning("effect.stored_again", error=str(error))
            await asyncio.sleep(pause)
    return await db(call)
