"""follow: every event once and in order, whatever the bell does and wherever the reader joins."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from events import journal
from events.follow import follow
from events.frames import Frames
from events.hub import Hub, hub
from events.journal import Claim
from events.writer import JournalWriter
from events.writer.lease import Lease
from tests.events.records import deltas, payloads, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def live() -> AsyncIterator[tuple[JournalWriter, Hub]]:
    writer = JournalWriter()
    task = asyncio.create_task(writer.run())
    try:
        yield writer, hub()
    finally:
        writer.close()
        await asyncio.wait_for(task, 30)
        await hub().close()
        from channels.layers import channel_layers

        await channel_layers["default"].flush()


def new_claim() -> Claim:
    claim = journal.take_over(journal.create().pk)
    assert claim
    return claim


async def read(claim: Claim, after: int = 0) -> list[tuple[int, bytes]]:
    received: list[tuple[int, bytes]] = []
    async with aclosing(follow(claim.journal_id, after)) as frames:
        async for batch in frames:
            if batch:
                received += enumerate(batch.payloads or (), batch.first)
    return received


def expected(records: list[Any], after: int) -> list[tuple[int, bytes]]:
    return list(enumerate(payloads(records), 1))[after:]


async def write(writer: JournalWriter, claim: Claim, records: list[Any], pause: float) -> Lease:
    lease = writer.open(claim)
    for index, item in enumerate(records):
        lease.append([item])
        if index % 10 == 0:
            await asyncio.sleep(pause)
        if lease.full:
            await lease.room()
    await lease.flush()
    return lease


async def test_an_ended_run_is_replayed_whole_and_from_a_cursor() -> None:
    async with live() as (writer, _):
        claim = await db(new_claim)
        records = whole_log(1300)
        await write(writer, claim, records, 0)
        assert await read(claim) == expected(records, 0)
        assert await read(claim, 1298) == expected(records, 1298)
        assert await read(claim, 1300) == []


async def test_readers_of_a_live_run_get_it_all_whenever_they_join() -> None:
    async with live() as (writer, _):
        claim = await db(new_claim)
        records = whole_log(600)
        writing = asyncio.create_task(write(writer, claim, records, 0.005))
        readers = []
        chance = random.Random(1)
        for _ in range(60):
            await asyncio.sleep(chance.random() * 0.01)
            head = (await db(journal.heads, [claim.journal_id]))[claim.journal_id]
            after = chance.randint(0, head)
            readers.append((after, asyncio.create_task(read(claim, after))))
        await writing
        for after, reader in readers:
            assert await asyncio.wait_for(reader, 30) == expected(records, after)


class Faults:
    """Drops, doubles, delays and reorders what the bell brings; counts that it did."""

    def __init__(self, target: Hub) -> None:
        self.real: Callable[[dict[str, Any]], None] = target.deliver
        self.chance = random.Random(1)
        self.fired = {"drop": 0, "double": 0, "delay": 0}
        target.deliver = self.deliver  # type: ignore[method-assign]

    def deliver(self, message: dict[str, Any]) -> None:
        choice = self.chance.random()
        if choice < 0.25:
            self.fired["drop"] += 1
        elif choice < 0.5:
            self.fired["double"] += 1
            self.real(message)
            self.real(message)
        elif choice < 0.75:
            self.fired["delay"] += 1
            asyncio.get_running_loop().call_later(self.chance.random() * 0.05, self.real, message)
        else:
            self.real(message)

    @property
    def enough(self) -> bool:
        return all(count > 20 for count in self.fired.values())


async def test_a_faulty_bell_costs_nobody_an_event() -> None:
    """How many events share a bell depends on the machine: the log ends after enough faults."""
    async with live() as (writer, here):
        faults = Faults(here)
        claim = await db(new_claim)
        records = whole_log(2500)
        terminal = records.pop()

        async def write_until_enough() -> None:
            lease = await write(writer, claim, records, 0.004)
            while not faults.enough:
                more = deltas(10, start=len(records))
                records.extend(more)
                lease.append(more)
                await lease.flush()
                await asyncio.sleep(0)
            records.append(terminal)
            lease.append([terminal])
            await lease.flush()

        writing = asyncio.create_task(write_until_enough())
        readers = [(0, asyncio.create_task(read(claim, 0)))]
        for _ in range(40):
            await asyncio.sleep(0.02)
            head = (await db(journal.heads, [claim.journal_id]))[claim.journal_id]
            after = max(0, head - faults.chance.choice([0, 1, 5, 300]))
            readers.append((after, asyncio.create_task(read(claim, after))))
        await asyncio.wait_for(writing, 60)
        for after, reader in readers:
            assert await asyncio.wait_for(reader, 30) == expected(records, after)
        assert faults.enough, faults.fired


async def test_the_last_event_arrives_though_its_bell_is_lost() -> None:
    async with live() as (writer, here):
        claim = await db(new_claim)
        records = whole_log(10)
        lease = writer.open(claim)
        lease.append(records[:9])
        await lease.flush()
        reading = asyncio.create_task(read(claim))
        while not here.readers:
            await asyncio.sleep(0)
        here.deliver = lambda message: None  # type: ignore[method-assign]
        lease.append(records[9:])
        await lease.flush()
        assert await asyncio.wait_for(reading, 10) == expected(records, 0)


@pytest.mark.parametrize("lost", [False, True])
async def test_a_reader_that_expects_a_run_gets_it_without_reading(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, lost: bool
) -> None:
    """If the first notification is lost, the tick sends it to the journal."""
    settings.AGUI_HUB_TICK = 0.05 if lost else 60.0
    claim, records = await db(new_claim), whole_log(5)
    reads: list[int] = []
    async with live() as (writer, here):
        stretch, deliver = here.stretch, here.deliver

        async def counted(journal_id: UUID, after: int) -> Any:
            reads.append(after)
            return await stretch(journal_id, after)

        monkeypatch.setattr(here, "stretch", counted)
        monkeypatch.setattr(here, "deliver", (lambda _: None) if lost else deliver)
        reader = await here.expect(claim.journal_id)
        writing = asyncio.create_task(write(writer, claim, records, 0))
        received: list[tuple[int, bytes]] = []
        async with asyncio.timeout(20), aclosing(follow(claim.journal_id, reader=reader)) as frames:
            async for batch in frames:
                if batch:
                    received += enumerate(batch.payloads or (), batch.first)
        await writing
    assert received == expected(records, 0)
    assert bool(reads) is lost


async def test_a_reader_that_does_not_read_costs_bounded_memory_and_loses_nothing() -> None:
    async with live() as (writer, here):
        claim = await db(new_claim)
        records = whole_log(5000)
        async with aclosing(follow(claim.journal_id)) as frames:
            writing = asyncio.create_task(write(writer, claim, records, 0.001))
            first = await anext(frames)
            assert first
            received = list(enumerate(first.payloads or (), first.first))
            await writing
            (reader,) = here.readers[claim.journal_id]
            assert reader.bytes <= 128 * 1024
            async for batch in frames:
                if batch:
                    received += enumerate(batch.payloads or (), batch.first)
        assert received == expected(records, 0)
        assert not here.readers


async def test_silence_is_reported_so_that_a_heartbeat_can_be_sent() -> None:
    async with live() as (writer, _):
        claim = await db(new_claim)
        lease = writer.open(claim)
        lease.append(deltas(1))
        await lease.flush()
        async with aclosing(follow(claim.journal_id, idle=0.1)) as frames:
            assert isinstance(await anext(frames), Frames)
            assert await asyncio.wait_for(anext(frames), 10) is None


async def test_readers_waiting_for_the_same_stretch_share_a_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with live() as (writer, _):
        claim = await db(new_claim)
        records = whole_log(100)
        await write(writer, claim, records, 0)
        queries: list[int] = []
        real = journal.read_stretch
        monkeypatch.setattr(
            journal, "read_stretch", lambda *key: (queries.append(1), real(*key))[1]
        )
        results = await asyncio.gather(*(read(claim) for _ in range(100)))
        assert all(result == expected(records, 0) for result in results)
        assert len(queries) < 100
