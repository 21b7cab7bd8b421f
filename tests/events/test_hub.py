"""The hub: mailboxes with a bound, topics that ring, and a tick that doubts the bell."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.layers import channel_layers

from agui_host.backends.postgres.bridge import db
from events import announce, journal
from events.frames import Frames
from events.hub import QUEUE_BYTES, QUEUE_FRAMES, Hub, Reader
from events.journal import Batch
from tests.events.records import deltas, payloads


def frames(first: int, payload: bytes = b"{}", *, final: bool = False) -> Frames:
    return Frames(first, first, [payload], final=final)


class TestReader:
    def test_a_new_reader_reads_the_journal_first(self) -> None:
        assert Reader(0).missed

    def test_frames_come_out_in_order_and_their_bytes_are_counted(self) -> None:
        reader = Reader(0)
        batches = [frames(n, b"x" * n) for n in (1, 2, 3)]
        for batch in batches:
            reader.put(batch)
        assert reader.wake.is_set()
        assert reader.bytes == sum(batch.size for batch in batches)
        assert [reader.pop() for _ in batches] == batches
        assert reader.bytes == 0

    @pytest.mark.parametrize("bound", ["bytes", "frames"])
    def test_what_does_not_fit_is_forgotten_and_read_from_the_journal(self, bound: str) -> None:
        reader = Reader(0)
        reader.missed = False
        size, most = (QUEUE_BYTES // 4, 64) if bound == "bytes" else (1, QUEUE_FRAMES)
        for n in range(1, most + 1):
            reader.put(frames(n, b"x" * size))
            if reader.missed:
                break
        if bound == "frames":
            assert len(reader.queue) == QUEUE_FRAMES
            reader.put(frames(most + 1))
        assert reader.missed
        assert not reader.queue
        assert reader.bytes == 0


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    """A hub of the test's own, whose tasks do not tick: the test does."""
    hub = Hub()
    hub._start = lambda: None  # type: ignore[method-assign]
    yield hub
    await hub.close()
    await channel_layers["default"].flush()


def message(journal_id: UUID, first: int, *texts: bytes) -> dict[str, Any]:
    last = first + len(texts) - 1
    return {"journal": journal_id.bytes, "first": first, "last": last, "payloads": list(texts),
            "final": False}  # fmt: skip


async def test_a_message_reaches_the_readers_of_its_journal_and_no_others(hub: Hub) -> None:
    mine, other = uuid4(), uuid4()
    two = [await hub.join(mine, 0), await hub.join(mine, 0)]
    stranger = await hub.join(other, 0)
    hub.deliver(message(mine, 1, b"a", b"b"))
    for reader in two:
        batch = reader.pop()
        assert (batch.first, batch.last, batch.payloads) == (1, 2, [b"a", b"b"])
    assert not stranger.queue
    hub.leave(mine, two[0])
    assert hub.readers[mine] == {two[1]}
    hub.leave(mine, two[1])
    assert mine not in hub.readers
    hub.deliver(message(mine, 3, b"c"))  # nobody is there: nothing happens


async def test_a_reader_that_expects_a_journal_has_nothing_to_read(hub: Hub) -> None:
    journal_id = uuid4()
    reader = await hub.expect(journal_id)
    assert not reader.missed
    assert hub.is_read_by(journal_id, reader)
    hub.deliver(message(journal_id, 1, b"a"))
    assert reader.pop().payloads == [b"a"]
    hub.leave(journal_id, reader)
    hub.leave(journal_id, reader)  # whoever made the journal, and the one who has read it
    assert journal_id not in hub.readers


@pytest.mark.parametrize("trouble", ["silent", "away"])
async def test_without_valkey_it_reads_the_journal(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """A start waits for Valkey only briefly."""
    fired: list[str] = []

    async def joins(group: str) -> bool:
        fired.append(group)
        if trouble == "silent":
            await asyncio.Event().wait()
        return False

    monkeypatch.setattr(hub._groups, "join", joins)
    journal_id = uuid4()
    async with asyncio.timeout(5):
        reader = await hub.expect(journal_id)
    assert fired == [announce.group(journal_id)]
    assert reader.missed


async def test_a_start_that_is_cancelled_leaves_no_reader(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = asyncio.Event()

    async def joins(group: str) -> bool:
        entered.set()
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(hub._groups, "join", joins)
    monkeypatch.setattr("events.hub.EXPECT_SECONDS", 60)
    starting = asyncio.create_task(hub.expect(uuid4()))
    await entered.wait()
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    assert not hub.readers


async def test_a_topic_rings_those_who_listen_and_nobody_afterwards(hub: Hub) -> None:
    async with hub.listening(["access.a", "access.b"]) as both:
        async with hub.listening(["access.b"]) as one:
            hub.deliver({"topic": "access.a"})
            assert both.is_set()
            assert not one.is_set()
            both.clear()
            hub.deliver({"topic": "access.b"})
            assert both.is_set()
            assert one.is_set()
        both.clear()
        one.clear()
        hub.deliver({"topic": "access.b"})
        assert both.is_set()
        assert not one.is_set()
    hub.deliver({"topic": "access.a"})
    assert not hub._rings


@pytest.mark.django_db(transaction=True)
class TestJournal:
    """With a journal of five events in the database."""

    @staticmethod
    def stored() -> UUID:
        claim = journal.take_over(journal.create().pk)
        assert claim
        batch = Batch(claim.journal_id, claim.generation, claim.head + 1, deltas(5))
        assert journal.append([batch])
        return claim.journal_id

    async def test_one_that_is_behind_for_two_ticks_is_sent_to_the_journal(self, hub: Hub) -> None:
        journal_id = await db(self.stored)
        behind, current = await hub.join(journal_id, 3), await hub.join(journal_id, 5)
        for reader in (behind, current):
            reader.missed = False
        await hub.check_once()
        assert not behind.missed, "what is merely on its way is left alone"
        await hub.check_once()
        assert behind.missed
        assert behind.wake.is_set()
        assert not current.missed
        assert hub.counters["nudged"] == 1

    async def test_an_idle_reader_is_woken_once_its_time_has_come(self, hub: Hub) -> None:
        journal_id = await db(self.stored)
        idle, patient = await hub.join(journal_id, 5), await hub.join(journal_id, 5)
        idle.idle_at = 0.0
        await hub.check_once()
        assert idle.wake.is_set()
        assert not patient.wake.is_set()

    async def test_readers_that_wait_for_one_stretch_share_its_query(
        self, hub: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal_id = await db(self.stored)
        queries: list[int] = []
        real = journal.read_stretch
        monkeypatch.setattr(
            journal, "read_stretch", lambda *key: (queries.append(1), real(*key))[1]
        )
        stretches = await asyncio.gather(*(hub.stretch(journal_id, 0) for _ in range(20)))
        assert {stretch.head for stretch in stretches} == {5}
        assert stretches[0].payloads == payloads(deltas(5))
        assert len(queries) < 20
        before = len(queries)
        await hub.stretch(journal_id, 0)
        assert len(queries) == before + 1, "a read that has ended is not given out again"

    async def test_the_tick_gives_groups_back_that_nobody_reads(self, hub: Hub) -> None:
        journal_id = await db(self.stored)
        reader = await hub.join(journal_id, 5)
        group = announce.group(journal_id)
        await hub.check_once()
        assert group in hub._groups._held
        hub.leave(journal_id, reader)
        await hub.check_once()
        assert group not in hub._groups._held
