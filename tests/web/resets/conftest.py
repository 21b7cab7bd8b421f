"""A run that readers have whole, before its log goes back."""

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from tests.cast import Cast, LiveRun, start
from tests.events.first_epoch import first_epoch
from tests.web.resets.rewinding import begin

__all__ = ["first_epoch"]


@pytest.fixture(autouse=True)
def _tool(cast: Cast, first_epoch: None) -> None:
    Agent.objects.filter(slug="echo").update(is_tool=True)


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events."""
    return await begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
