"""The cast, a worker's writer, and a live run."""

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from tests.cast import Cast, LiveRun, bell, cast, register, start, writer

__all__ = ["bell", "cast", "register", "writer"]


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events: RUN_STARTED, then a, b, c."""
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await run.say("a", "b", "c")
    return run
