"""The one way from an event loop to the database: a bounded pool of threads.

``database_sync_to_async`` runs every call of a process in one thread, one after the other (five 0.2
s calls took 1.0 s), and unbounded threads exhaust Postgres. So there are ``AGUI_DB_THREADS``
threads, for which teams take turns (``lanes``). Each thread returns its connection after every call
to a pool that only they use: an agent that empties Django's pool stops none of the host's calls. A
call that has to wait for its turn (``turns``) gives its thread back until then.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections

from agui_host.backends.postgres import reserved, scope, turns
from agui_host.backends.postgres.lanes import Lanes
from agui_host.backends.postgres.servers import replica

P = ParamSpec("P")
T = TypeVar("T")

HOME: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar(
    "HOME", default=None
)
"""The loop that waits for the current thread, if one does: it has connections to the bell."""
RESTART_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds between tries


@functools.cache
def _pool() -> Lanes:
    size = settings.AGUI_DB_THREADS
    apart = functools.partial(reserved.connect, size)
    return Lanes(size, "db", apart)


def _call(fn: Callable[[], T]) -> T:
    turns.WAITS_OUTSIDE.set(True)
    try:
        return fn()
    finally:
        close_old_connections()


async def db(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` with its own thread's database connection and await its result.

    The context is passed on: the request's id and address. ``fn`` is called again after NotYet.
    """
    return await turns.wait_outside(
        functools.partial(_in_thread, functools.partial(fn, *args, **kwargs))
    )


async def _in_thread(call: Callable[[], T]) -> T:
    context = contextvars.copy_context()
    context.run(HOME.set, asyncio.get_running_loop())
    run = functools.partial(context.run, _call, call)
    return cast(T, await asyncio.wrap_future(_pool().submit(scope.lane(), run)))


async def db_read(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """``db`` for a read that can be repeated: survives a restart of Postgres."""
    for pause in RESTART_PAUSES:
        try:
            return await db(fn, *args, **kwargs)
        except (OperationalError, InterfaceError):
            await asyncio.sleep(pause)
    return await db(fn, *args, **kwargs)


async def db_history(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """``db_read`` for what only reads: from the read replica, where that is as new."""
    return await db_read(replica.read, functools.partial(fn, *args, **kwargs))
