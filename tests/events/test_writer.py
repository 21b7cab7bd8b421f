"""Group commit: order, back-pressure, one culprit, lost leases and lost connections."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from django.db import InternalError, OperationalError, connection

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record
from events import journal
from events.journal import Claim
from events.models import Journal
from events.writer import JournalWriter, commits
from events.writer.lease import IN_FLIGHT, IN_FLIGHT_BYTES, ROW, AppendFailed, LostLease
from events.writer.writer import HEAVIEST, HEAVY
from tests.events.records import deltas, payloads, record, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def running_writer() -> AsyncIterator[JournalWriter]:
    writer = JournalWriter()
    task = asyncio.create_task(writer.run())
    try:
        yield writer
    finally:
        writer.close()
        await asyncio.wait_for(task, 30)


def new_claim() -> Claim:
    claim = journal.take_over(journal.create().pk)
    assert claim
    return claim


async def stored(claim: Claim) -> list[bytes]:
    payloads: list[bytes] = []
    while page := (await db(journal.read_after, claim.journal_id, len(payloads))).rows:
        payloads += [payload.encode() for _, _, payload in page]
    return payloads


async def test_everything_appended_is_stored_in_order_with_few_commits() -> None:
    claims = [await db(new_claim) for _ in range(5)]
    async with running_writer() as writer:
        leases = [writer.open(item) for item in claims]
        for number in range(1, 301):
            for lease in leases:
                lease.append(deltas(1, start=number))
        for lease in leases:
            await lease.flush()
        assert writer.rows == 1500
        assert writer.commits <= 5
    for item in claims:
        assert await stored(item) == payloads(deltas(300))


async def test_a_flood_is_stored_with_few_commits_after_a_pause_too() -> None:
    """The first commit takes a part of what may be on its way; the next ones are not cut by it."""
    claim = await db(new_claim)
    async with running_writer() as writer, asyncio.timeout(20):
        lease = writer.open(claim)
        lease.append(deltas(IN_FLIGHT // 4))
        while lease.waiting:
            await asyncio.sleep(0)
        assert lease.in_flight, "its commit is under way"
        for number in range(20 * IN_FLIGHT):
            lease.append(deltas(1, start=number))
            if lease.full:
                await lease.room()
        await lease.flush()
        assert writer.commits <= 25


@pytest.mark.parametrize(
    "heavy",
    [[record("CUSTOM", name="big", value="x" * HEAVY)], deltas(HEAVY // ROW)],
    ids=["large event", "many events"],
)
async def test_no_run_waits_for_a_heavy_batch_of_another(heavy: list[Record]) -> None:
    """It is committed next to the others', and further events of its run after it all the same."""
    large, small = [await db(new_claim) for _ in range(2)]
    others_are_stored = threading.Event()
    async with running_writer() as writer, asyncio.timeout(20):
        ours, theirs = writer.open(large), writer.open(small)
        ours.append(heavy, also=[lambda: others_are_stored.wait(10)])
        await asyncio.sleep(0)
        theirs.append(deltas(2))
        await theirs.flush()
        ours.append(deltas(3))
        theirs.append(deltas(1, start=3))
        await theirs.flush()
        assert await stored(large) == []
        others_are_stored.set()
        await ours.flush()
        ours.append(heavy)  # heavy and last: the writer ends behind it
    assert await stored(small) == payloads(deltas(3))
    assert await stored(large) == payloads([*heavy, *deltas(3), *heavy])


async def test_a_flood_has_to_wait_for_room() -> None:
    claim = await db(new_claim)
    async with running_writer() as writer:
        lease = writer.open(claim)
        most = 0
        for _ in range(5 * IN_FLIGHT):
            lease.append(deltas(1))
            most = max(most, lease.in_flight)
            if lease.full:
                await lease.room()
        await lease.flush()
        assert most == IN_FLIGHT
    assert len(await stored(claim)) == 5 * IN_FLIGHT


async def test_large_events_wait_for_room_by_their_bytes() -> None:
    claim = await db(new_claim)
    large = Record("CUSTOM", b'{"v":"' + b"x" * (IN_FLIGHT_BYTES // 4) + b'"}', 0.0)
    async with running_writer() as writer:
        lease = writer.open(claim)
        most = 0
        for _ in range(20):
            lease.append([large])
            most = max(most, lease.bytes)
            if lease.full:
                await lease.room()
        await lease.flush()
        assert lease.bytes == 0
    assert IN_FLIGHT_BYTES <= most < IN_FLIGHT_BYTES + len(large.payload)
    assert len(await stored(claim)) == 20


async def test_commits_are_bounded_and_nobody_is_left_out() -> None:
    claims = [await db(new_claim) for _ in range(9)]
    async with running_writer() as writer:
        leases = [writer.open(item) for item in claims]
        for lease in leases:
            lease.append(deltas(IN_FLIGHT))
        weight = leases[0].weight
        for lease in leases:
            await lease.flush()
    assert writer.commits >= 9 * weight // (HEAVIEST + weight)
    for item in claims:
        assert len(await stored(item)) == IN_FLIGHT


async def test_what_runs_with_the_terminal_event_shares_its_transaction() -> None:
    claim = await db(new_claim)
    heads: list[int] = []

    def count_rows() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "select count(*) from events_event where journal_id = %s", [claim.journal_id]
            )
            heads.append(cursor.fetchone()[0])

    async with running_writer() as writer:
        lease = writer.open(claim)
        lease.append(whole_log(4), also=[count_rows])
        await lease.flush()
    assert heads == [4]


async def test_only_the_culprit_of_a_failing_commit_is_told() -> None:
    good, bad = await db(new_claim), await db(new_claim)

    def refuse() -> None:
        raise ValueError("refused")

    async with running_writer() as writer:
        leases = [writer.open(good), writer.open(bad)]
        leases[0].append(deltas(3))
        leases[1].append(deltas(3), also=[refuse])
        await leases[0].flush()
        with pytest.raises(AppendFailed):
            await leases[1].flush()
        leases[1].reopen()
        leases[1].append([record("RUN_ERROR", message="m")])
        await leases[1].flush()
    assert len(await stored(good)) == 3
    assert len(await stored(bad)) == 1


async def test_a_run_that_is_refused_once_is_stored() -> None:
    """Also alone: the fault can have been its session's."""
    claim, sessions = await db(new_claim), list[int]()

    def refuse_once() -> None:
        sessions.append(connection.connection.info.backend_pid)
        if len(sessions) == 1:
            raise InternalError("the session is broken")

    async with running_writer() as writer:
        lease = writer.open(claim)
        lease.append(deltas(3), also=[refuse_once])
        await lease.flush()
    assert await stored(claim) == payloads(deltas(3))
    assert len(set(sessions)) == 2


async def test_a_row_the_database_refuses_ends_only_its_run() -> None:
    good, bad = await db(new_claim), await db(new_claim)
    async with running_writer() as writer:
        leases = [writer.open(good), writer.open(bad)]
        leases[0].append(deltas(2))
        leases[1].append([Record("CUSTOM", b'{"a":"\x00"}', 0.0)])
        await leases[0].flush()
        with pytest.raises(AppendFailed):
            await leases[1].flush()
    assert (len(await stored(good)), len(await stored(bad))) == (2, 0)


async def test_a_lost_lease_is_told_and_the_others_go_on() -> None:
    zombie, other = await db(new_claim), await db(new_claim)
    shared: list[str] = []
    async with running_writer() as writer:
        lost, working = writer.open(zombie), writer.open(other)
        lost.append(deltas(1), also=[lambda: shared.append("stored")])
        await lost.flush()
        await db(journal.take_over, zombie.journal_id)
        lost.append(deltas(1), also=[lambda: shared.append("lost")])
        working.append(deltas(1))
        with pytest.raises(LostLease):
            await lost.flush()
        await working.flush()
        with pytest.raises(LostLease):
            lost.append(deltas(1))
    assert (len(await stored(zombie)), len(await stored(other))) == (1, 1)
    assert shared == ["stored"], "what shares a lost batch's transaction does not happen"


@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_lost_lease_of_the_same_process_costs_its_successor_nothing(
    newest_first: bool,
) -> None:
    """A worker can take back a run that it has lost itself; both leases write at once."""
    before = await db(new_claim)
    after = await db(journal.take_over, before.journal_id)
    assert after
    async with running_writer() as writer:
        for claim in (after, before) if newest_first else (before, after):
            lease = writer.open(claim)
            lease.append(deltas(3))
            if claim is before:
                lost = lease
            else:
                current = lease
        with pytest.raises(LostLease):
            await lost.flush()
        await current.flush()
    assert await stored(after) == payloads(deltas(3))


async def test_a_terminated_connection_loses_and_doubles_nothing() -> None:
    claim = await db(new_claim)
    killed = 0
    async with running_writer() as writer:
        lease = writer.open(claim)
        for number in range(1, 201):
            lease.append(deltas(1, start=number))
            if number % 50 == 0:
                await lease.flush()
                killed += await db(terminate_writers)
        await lease.flush()
    assert killed == 4
    assert await stored(claim) == payloads(deltas(200))


@pytest.mark.parametrize("small", [True, False])
async def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    """The connection dies between COMMIT and its answer: the worst moment there is.

    A small group is one message, which is a transaction by itself.
    """
    claim = await db(new_claim)
    module, name = (commits, "store_in_one_message") if small else (journal, "append")
    real: Callable[..., object] = getattr(module, name)
    fired: list[int] = []

    def commit_and_die(*args: object) -> object:
        outcome = real(*args)
        if not fired:
            fired.append(1)
            with connection.wrap_database_errors:
                connection.connection.execute("commit")
                connection.connection.execute("select pg_terminate_backend(pg_backend_pid())")
        return outcome

    monkeypatch.setattr(module, name, commit_and_die)
    first = 3 if small else commits.SMALL_EVENTS + 1
    async with running_writer() as writer:
        lease = writer.open(claim)
        lease.append(deltas(first))
        await lease.flush()
        lease.append(deltas(2, start=first + 1))
        await lease.flush()
    assert fired == [1]
    assert await stored(claim) == payloads(deltas(first + 2))
    assert (await db(Journal.objects.get, pk=claim.journal_id)).head == first + 2


async def test_a_server_that_only_reads_is_waited_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A primary that was demoted keeps its sessions, and refuses what they write."""
    monkeypatch.setattr(commits, "RETRY_SECONDS", (0.01, 0.01, 0.01, 0.05))
    claim = await db(new_claim)
    async with running_writer() as writer, asyncio.timeout(30):
        lease = writer.open(claim)
        count = 1
        lease.append(deltas(count))
        await lease.flush()
        try:
            await db(only_reads, True)
            while "writer.read_only" not in caplog.text:  # the session learns of it some time later
                count += 1
                lease.append(deltas(1, start=count))
                await asyncio.sleep(0.05)
            while caplog.text.count("writer.read_only") < 10:
                await asyncio.sleep(0.01)
            with pytest.raises(OperationalError):
                await db(new_claim)  # as a request: 503, and its connection is not used again
        finally:
            await db(only_reads, False)
        await lease.flush()
    assert await stored(claim) == payloads(deltas(count))


def only_reads(value: bool) -> None:
    """Let all sessions of the server, old and new, refuse to write, or write again."""
    with connection.cursor() as cursor:
        setting = "= on" if value else "to default"
        cursor.execute(f"alter system set default_transaction_read_only {setting}")
        cursor.execute("select pg_reload_conf()")


def terminate_writers() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
            " where application_name = %s",
            [journal.WRITER_APPLICATION],
        )
        return int(cursor.fetchone()[0])


async def test_commits_during_a_call_of_the_bell_ring_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each call waits for an answer, so the last of ten commits would wait for nine answers."""
    calls, answer = list[int](), asyncio.Event()

    async def ring(items: list[object]) -> None:
        calls.append(len(items))
        await answer.wait()

    monkeypatch.setattr("events.writer.writer.bell.ring", ring)
    claim = await db(new_claim)
    async with running_writer() as writer:
        lease = writer.open(claim)
        for number in range(1, 11):
            lease.append(deltas(1, start=number))
            await lease.flush()
        answer.set()
    assert calls == [1, 9]
