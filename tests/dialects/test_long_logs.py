"""A long log is fed to a dialect stretch by stretch: between two, others have the event loop."""

import asyncio
from collections import Counter
from uuid import UUID

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.dialects import waiting
from agui_host.protocol.wire.fold import Event, Frame
from events import journal
from events.hub import hub
from events.journal import STRETCH_EVENTS
from runs.models import Run, Thread
from tests.cast import Cast
from tests.events.records import whole_log

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = 4


class Noting:
    """A fold that notes when it is fed: the number of the loop's turn."""

    def __init__(self) -> None:
        self.turn = 0
        self.fed: Counter[int] = Counter()

    def feed(self, event: Event) -> list[Frame]:
        self.fed[self.turn] += 1
        return []

    def part(self, event: Event) -> None:
        """Each delta is fed."""

    async def tick(self) -> None:
        while True:
            self.turn += 1
            await asyncio.sleep(0)


def stored() -> UUID:
    row = journal.create()
    assert journal.append([journal.Batch(row.pk, 0, 1, whole_log(PAGES * STRETCH_EVENTS))])
    return row.pk


async def test_no_turn_of_the_loop_takes_more_than_a_stretch(cast: Cast) -> None:
    fold = Noting()
    thread = Thread(team=cast.team)
    run = Run(journal_id=await db(stored), team=cast.team, thread=thread)
    ticking = asyncio.create_task(fold.tick())
    try:
        assert await waiting.feed(fold, cast.alice.principal, run) == PAGES * STRETCH_EVENTS
    finally:
        ticking.cancel()
        await hub().close()
    assert fold.fed.total() == PAGES * STRETCH_EVENTS
    assert max(fold.fed.values()) <= STRETCH_EVENTS
