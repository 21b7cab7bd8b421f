"""The journal's SQL: gap-free numbers, fencing, closing, pages, takeover of a stuck writer."""

import threading
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection, transaction

from agui_host.protocol.encoding import Record
from events import journal
from events.journal import Batch, Claim
from events.models import Event, Journal
from tests.events.records import deltas, payloads, record, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


def claimed() -> Claim:
    claim = journal.take_over(journal.create().pk)
    assert claim is not None
    return claim


def append(claim: Claim, records: list[Record], *, after: int = 0) -> set[UUID]:
    with transaction.atomic():
        return journal.append([Batch(claim.journal_id, claim.generation, after + 1, records)])


def test_what_is_appended_is_read_back_byte_for_byte_and_numbered_from_one() -> None:
    claim = claimed()
    records = [record("RUN_STARTED", text='ünïcode \U0001f600 "quoted" \\u0000'), *deltas(3)]
    append(claim, records)
    page = journal.read_after(claim.journal_id, 0)
    assert [seq for seq, _, _ in page.rows] == [1, 2, 3, 4]
    assert [payload.encode() for _, _, payload in page.rows] == payloads(records)
    assert (page.head, page.closed) == (4, False)


def test_host_clock_is_stored() -> None:
    claim = claimed()
    item = record("RUN_STARTED")
    append(claim, [item])
    stored = Event.objects.get(pk=(claim.journal_id, 1)).at.timestamp()
    assert stored == pytest.approx(item.at, abs=1e-5)


@pytest.mark.parametrize("first", [1, 3, 4])
def test_a_batch_that_does_not_continue_the_head_is_refused(first: int) -> None:
    claim = claimed()
    append(claim, deltas(1))
    with transaction.atomic():
        batch = Batch(claim.journal_id, claim.generation, first, deltas(1))
        assert journal.append([batch]) == set()
    assert Event.objects.filter(journal_id=claim.journal_id).count() == 1


def test_a_taken_over_writer_appends_nothing_and_its_neighbours_do() -> None:
    zombie, neighbour = claimed(), claimed()
    assert journal.take_over(zombie.journal_id) is not None
    with transaction.atomic():
        written = journal.append([Batch(*claim[:2], 1, deltas(2)) for claim in (zombie, neighbour)])
    assert written == {neighbour.journal_id}
    assert journal.heads([zombie.journal_id, neighbour.journal_id]) == {
        zombie.journal_id: 0,
        neighbour.journal_id: 2,
    }


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("wrong", ["", "another writer", "a gap", "again", "ended"])
def test_the_fence_of_one_journal_and_of_many(wrong: str, alone: bool) -> None:
    claim, neighbour, first = claimed(), claimed(), 1
    if wrong == "another writer":
        journal.take_over(claim.journal_id)
    elif wrong == "a gap":
        first = 2
    elif wrong == "again":
        append(claim, deltas(1))
    elif wrong == "ended":
        append(claim, whole_log(5))
        first = 6
    batches = [Batch(*claim[:2], first, deltas(1))]
    batches += [] if alone else [Batch(*neighbour[:2], 1, deltas(1))]
    with transaction.atomic():
        written = journal.append(batches)
    assert (claim.journal_id in written) is (not wrong)
    assert (neighbour.journal_id in written) is (not alone)


@pytest.mark.parametrize("alone", [True, False])
def test_the_bytes_of_a_journal_are_those_of_all_its_events(alone: bool) -> None:
    claim, neighbour = claimed(), claimed()
    for number in range(3):
        batches = [Batch(*each[:2], number + 1, deltas(1)) for each in (claim, neighbour)]
        with transaction.atomic():
            journal.append(batches[:1] if alone else batches)
    stored = journal.read_after(claim.journal_id, 0).rows
    size = sum(len(payload.encode()) for _, _, payload in stored)
    assert Journal.objects.get(pk=claim.journal_id).bytes == size > 0


def test_nothing_follows_a_terminal_event_and_nobody_takes_a_closed_journal_over() -> None:
    claim = claimed()
    append(claim, whole_log(5))
    assert append(claim, deltas(1), after=5) == set()
    assert journal.take_over(claim.journal_id) is None
    assert journal.read_after(claim.journal_id, 5).closed


def test_confirm_knows_a_commit_whose_answer_was_lost() -> None:
    claim = claimed()
    batch = Batch(claim.journal_id, claim.generation, 1, deltas(3))
    assert journal.confirm([batch]) == set()
    with transaction.atomic():
        journal.append([batch])
    assert journal.confirm([batch]) == {claim.journal_id}
    journal.take_over(claim.journal_id)
    assert journal.confirm([batch]) == set(), "another writer has the journal"


def test_pages_are_bounded_in_rows_and_bytes_and_leave_nothing_out() -> None:
    claim = claimed()
    records = [
        record("CUSTOM", name="n", value="x" * (40_000 if n % 7 == 0 else 10)) for n in range(1200)
    ]
    append(claim, records)
    read: list[bytes] = []
    while page := journal.read_after(claim.journal_id, len(read)).rows:
        assert len(page) <= journal.PAGE_ROWS
        assert sum(len(payload) for _, _, payload in page) <= journal.PAGE_BYTES + 40_100
        read += [payload.encode() for _, _, payload in page]
    assert read == payloads(records)
    read = []
    while stretch := journal.read_stretch(claim.journal_id, len(read)).payloads:
        assert len(stretch) <= journal.STRETCH_EVENTS
        assert sum(map(len, stretch)) <= journal.PAGE_BYTES + 40_100
        read += stretch
    assert read == payloads(records)


def test_a_stretch_tells_whether_the_log_ends_with_it() -> None:
    claim = claimed()
    append(claim, [*deltas(3), Record("RUN_FINISHED", b'{"type":"RUN_FINISHED"}', 0.0)])
    assert [journal.read_stretch(claim.journal_id, 0, last).final for last in (3, 4)] == [
        False,
        True,
    ]
    after = journal.read_stretch(claim.journal_id, 4)
    assert (after.payloads, after.final, after.head) == ([], False, 4)


def test_an_unknown_journal_reads_as_empty_and_closed() -> None:
    page = journal.read_after(uuid4(), 0)
    assert (page.rows, page.closed) == ([], True)
    stretch = journal.read_stretch(uuid4(), 0)
    assert (stretch.payloads, stretch.closed) == ([], True)


def test_a_raw_nul_never_reaches_a_row() -> None:
    claim = claimed()
    with pytest.raises(Exception, match="0x00"):
        append(claim, [Record("CUSTOM", b'{"a":"\x00"}', 0.0)])
    assert journal.heads([claim.journal_id]) == {claim.journal_id: 0}


def test_takeover_terminates_a_writer_that_is_stuck_in_its_transaction() -> None:
    claim = claimed()
    stuck = psycopg.connect(
        **{
            **{key: value for key, value in connection.get_connection_params().items()
               if key in ("host", "user", "dbname", "password", "port")},
            "application_name": journal.WRITER_APPLICATION,
        }
    )  # fmt: skip
    stuck.execute("update events_journal set head = 9 where id = %s", [claim.journal_id])
    taken: list[Claim | None] = []

    def take() -> None:
        taken.append(journal.take_over(claim.journal_id))
        connection.close()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join(30)
    assert taken == [Claim(claim.journal_id, claim.generation + 1, 0)]
    with pytest.raises(psycopg.OperationalError):
        stuck.commit()
    stuck.close()


def test_a_stuck_transaction_of_somebody_else_is_left_alone(settings: object) -> None:
    claim = claimed()
    params = connection.get_connection_params()
    address = {k: params[k] for k in ("host", "user", "dbname", "password", "port") if k in params}
    with psycopg.connect(**address, application_name="psql") as other:
        other.execute("update events_journal set head = 9 where id = %s", [claim.journal_id])
        with pytest.raises(Exception, match="lock timeout"):
            journal.take_over(claim.journal_id)
        other.rollback()
    assert Journal.objects.get(pk=claim.journal_id).writer == claim.generation
