"""Threads for work besides the database: a team whose calls are stuck leaves some to others."""

import asyncio
import threading
from uuid import UUID, uuid4

import pytest

from agui_host.backends import threads
from agui_host.backends.postgres import scope
from agui_host.backends.threads import in_thread


async def calling(team: UUID, event: threading.Event) -> str:
    with scope.limited(team):
        return await in_thread(lambda: event.wait(30) and scope.lane())


async def test_a_loud_team_leaves_threads_to_a_quiet_one() -> None:
    loud, quiet, never, now = uuid4(), uuid4(), threading.Event(), threading.Event()
    stuck = [asyncio.create_task(calling(loud, never)) for _ in range(4 * threads.THREADS)]
    await asyncio.sleep(0)
    now.set()
    assert await calling(quiet, now) == f"team:{quiet}"
    never.set()
    assert await asyncio.gather(*stuck) == [f"team:{loud}"] * len(stuck)


async def test_the_error_of_the_call_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 1, 0)
