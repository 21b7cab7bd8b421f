"""Deltas of several runs share a commit; whatever somebody waits for does not wait for others."""

import asyncio
from collections.abc import Callable

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter, writer
from events.writer.lease import Lease
from tests.events.records import deltas, record
from tests.events.test_writer import new_claim, running_writer

pytestmark = pytest.mark.django_db(transaction=True)
LATE, DEADLINE = 600.0, 30.0
TURNS = 100


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SPACING", LATE)


async def two_that_stream(journals: JournalWriter) -> tuple[Lease, Lease]:
    """Leases of two runs that wait with a delta each, after one that was stored."""
    leases = [journals.open(await db(new_claim)) for _ in range(2)]
    for lease in leases:
        lease.append(deltas(1))
        await lease.flush()
    for lease in leases:
        lease.append(deltas(1, start=2))
        for _ in range(TURNS):
            await asyncio.sleep(0)
    return leases[0], leases[1]


async def test_further_deltas_wait_for_those_of_others() -> None:
    async with running_writer() as journals:
        one, other = await two_that_stream(journals)
        assert (journals.commits, one.in_flight, other.in_flight) == (2, 1, 1)
    assert (journals.commits, one.head, other.head) == (3, 2, 2), "a writer that closes stores all"


@pytest.mark.parametrize(
    "hurry",
    [
        lambda lease: lease.append([record("TOOL_CALL_START")]),
        lambda lease: lease.append(deltas(1, start=3), [lambda: None]),
        lambda lease: asyncio.ensure_future(lease.flush()),
    ],
    ids=["another event", "a change beside it", "flush"],
)
async def test_what_is_urgent_takes_them_along(hurry: Callable[[Lease], object]) -> None:
    async with running_writer() as journals, asyncio.timeout(DEADLINE):
        one, other = await two_that_stream(journals)
        hurry(other)
        while one.in_flight or other.in_flight:
            await asyncio.sleep(0)
        assert journals.commits == 3


async def test_the_first_delta_of_a_message_does_not_wait() -> None:
    async with running_writer() as journals, asyncio.timeout(DEADLINE):
        one, _ = await two_that_stream(journals)
        for event in (record("TEXT_MESSAGE_START"), *deltas(1, start=4)):
            one.append([event])
            while one.in_flight:
                await asyncio.sleep(0)
        assert journals.commits == 4


async def test_a_slow_stream_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SPACING", 0.0)
    async with running_writer() as journals, asyncio.timeout(DEADLINE):
        one, other = await two_that_stream(journals)
        while one.in_flight or other.in_flight:
            await asyncio.sleep(0)
