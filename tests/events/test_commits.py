"""A small group of batches is one message, which stores all of it or nothing."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection

from agui_host.protocol.encoding import Record
from events import journal
from events.journal import Batch, Claim
from events.models import Event, Journal
from events.writer.commits import (
    SMALL_BYTES,
    SMALL_EVENTS,
    Committer,
    NotInOneMessage,
    is_small,
    store_in_one_message,
)
from events.writer.lease import Also, Statement
from tests.events.records import deltas, payloads, whole_log

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = Statement("select %(a)s::text, %(b)s::int", {"a": "%(ids)s; select", "b": 1})
BREAKS_ONCE = Statement(
    """
    select case nextval('once') when 1 then pg_terminate_backend(pg_backend_pid())::int / 0 end
    """,
    {},
)
"""An error, and before the client can roll back the end of the session: the first time."""
DIVIDED = Statement("select 1 / %(by)s", {"by": 0})


def claims(number: int) -> list[Claim]:
    made = [journal.take_over(journal.create().pk) for _ in range(number)]
    return [claim for claim in made if claim]


def work(claim: Claim, records: list[Record], *also: Also) -> tuple[Batch, list[Also]]:
    return Batch(claim.journal_id, claim.generation, claim.head + 1, records), list(also)


def stored(claim: Claim) -> list[bytes]:
    rows = Event.objects.filter(journal_id=claim.journal_id).order_by("seq")
    return [row.payload.encode() for row in rows]


def test_several_journals_and_what_goes_along() -> None:
    one, two = claims(2)
    odd = Record(
        "CUSTOM", '{"a":"\\\\ \' \\" {,} %s %(ids)s ; é 👍 NULL"}'.encode(), 1_700_000_000.25
    )
    store_in_one_message([work(one, [*deltas(3), odd], NOTHING), work(two, whole_log(4), NOTHING)])
    assert stored(one) == [*payloads(deltas(3)), odd.payload]
    assert stored(two) == payloads(whole_log(4))
    at = Event.objects.get(journal_id=one.journal_id, seq=4).at
    assert at.timestamp() == odd.at
    heads = {row.pk: (row.head, row.bytes, row.closed_at) for row in Journal.objects.all()}
    assert heads[one.journal_id] == (4, sum(map(len, stored(one))), None)
    assert heads[two.journal_id][0] == 4
    assert heads[two.journal_id][2] is not None


def test_another_writers_journal_keeps_the_others_from_being_stored() -> None:
    zombie, other = claims(2)
    journal.take_over(zombie.journal_id)
    with pytest.raises(NotInOneMessage):
        store_in_one_message([work(other, deltas(2)), work(zombie, deltas(2))])
    assert stored(zombie) == stored(other) == []


def test_a_statement_that_fails_keeps_everything_from_being_stored() -> None:
    (claim,) = claims(1)
    with pytest.raises(DatabaseError, match="division by zero"):
        store_in_one_message([work(claim, deltas(2), DIVIDED)])
    assert stored(claim) == []
    store_in_one_message([work(claim, deltas(2))])
    assert stored(claim) == payloads(deltas(2))


def test_what_is_small() -> None:
    (claim,) = claims(1)
    large = [Record("CUSTOM", b"x" * (SMALL_BYTES + 1), 0.0)]
    assert is_small([work(claim, deltas(SMALL_EVENTS), NOTHING)])
    assert not is_small([work(claim, deltas(SMALL_EVENTS + 1))])
    assert not is_small([work(claim, deltas(SMALL_EVENTS)), work(claim, deltas(1))])
    assert not is_small([work(claim, large)])
    assert not is_small([work(claim, deltas(1), NOTHING, lambda: None)])


def test_what_follows_is_asked_behind_the_commit_of_an_end() -> None:
    """Its rows come with the message; where nothing has ended, nothing is asked."""
    one, two = claims(2)

    def question(ended: Sequence[UUID]) -> Statement:
        sql = "select id, head from events_journal where id = any (%(ended)s)"
        return Statement(sql, {"ended": list(ended)})

    assert store_in_one_message([work(two, deltas(2))], question) == []
    group = [
        work(one, whole_log(4), NOTHING),
        work(two._replace(head=2), deltas(1, start=3)),
    ]
    assert store_in_one_message(group, question) == [(one.journal_id, 4)]
    with pytest.raises(NotInOneMessage):
        store_in_one_message([work(one, whole_log(4), NOTHING)], question)
    assert stored(one) == payloads(whole_log(4)), "the BEGIN of what failed is undone"


def test_an_error_behind_the_commit_leaves_the_group_stored() -> None:
    (claim,) = claims(1)
    group = [work(claim, whole_log(4), NOTHING)]
    assert store_in_one_message(group, lambda _: DIVIDED) == []
    assert stored(claim) == payloads(whole_log(4))


def test_a_commit_that_fails_leaves_nothing_stored() -> None:
    """By a constraint that is deferred to it: no error of the question behind it."""
    (claim,) = claims(1)
    with connection.cursor() as cursor:
        cursor.execute("create temp table twins (id int unique deferrable initially deferred)")
    twins = Statement("insert into twins values (1), (1) returning id", {})
    with pytest.raises(IntegrityError):
        store_in_one_message([work(claim, whole_log(4), twins)], lambda _: NOTHING)
    assert stored(claim) == []
    assert store_in_one_message([work(claim, whole_log(4))], lambda _: NOTHING) != []


@pytest.fixture
def _once() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("create sequence once")
    yield
    with connection.cursor() as cursor:
        cursor.execute("drop sequence once")


@pytest.mark.usefixtures("_once")
def test_a_session_that_ends_before_the_rollback_is_as_any_that_is_lost() -> None:
    """The run is not told that its events were refused."""
    (claim,) = claims(1)
    group = [work(claim, whole_log(4), BREAKS_ONCE)]
    with pytest.raises(OperationalError):
        store_in_one_message(group, lambda _: NOTHING)
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("alter sequence once restart")
    with ThreadPoolExecutor(1) as thread:
        verdicts = thread.submit(Committer(lambda _: NOTHING).commit, group).result()
        thread.submit(lambda: connection.close()).result()
    assert verdicts == {claim.journal_id: None}
    assert stored(claim) == payloads(whole_log(4))
