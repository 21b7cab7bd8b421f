"""Threads for work that would hold up an event loop: teams take turns for them.

The event loop's own threads are first come, first served: one team that fills them delays all.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.lanes import Lanes

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8


@functools.cache
def _pool() -> Lanes:
    return Lanes(THREADS, "work")


async def in_thread(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` in a thread, with this context, and await its result."""
    return await turn_in(_pool(), fn, *args, **kwargs)


async def turn_in(pool: Lanes, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` in a thread of ``pool`` when it is its team's turn."""
    run = functools.partial(contextvars.copy_context().run, fn, *args, **kwargs)
    return cast(T, await asyncio.wrap_future(pool.submit(scope.lane(), run)))
