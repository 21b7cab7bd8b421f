"""The epoch of the database's history, and from which event on a log was written in a newer one."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from backends import epochs
from events import journal
from events.models import Epoch, Journal
from protocol.encoding import Record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _first_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # The sessions of other tests' threads are not to end with this one.
    monkeypatch.setattr(epochs, "END_OTHERS", "select 1")
    yield
    connection.close()
    Epoch.objects.all().delete()
    connection.close()


def append(claim: journal.Claim, number: int) -> journal.Claim:
    """Append so many events; the claim after them."""
    records = [Record("CUSTOM", b"{}", 0.0)] * number
    journal.append_all(claim, records)
    return claim._replace(head=claim.head + number)


def begun() -> journal.Claim:
    """A journal with three events of the first epoch."""
    claim = journal.take_over(journal.create().pk)
    assert claim is not None
    return append(claim, 3)


def test_a_new_timeline_is_a_new_epoch(client: Client) -> None:
    before = client.get("/ready").json()["epoch"]
    assert before == epochs.read(connection.connection)
    Epoch.objects.update(timeline=77)
    after = client.get("/ready").json()["epoch"]
    assert after > before
    assert client.get("/ready").json()["epoch"] == after
    assert Epoch.objects.count() == 2


def test_a_restored_backup_is_a_new_epoch(client: Client) -> None:
    before = client.get("/ready").json()["epoch"]
    call_command("migrate", restored=True, verbosity=0)
    first = client.get("/ready").json()["epoch"]
    call_command("migrate", restored=True, verbosity=0)
    assert client.get("/ready").json()["epoch"] > first > before
    call_command("migrate", verbosity=0)
    assert Epoch.objects.count() == 3


def test_a_log_knows_its_epochs() -> None:
    claim = begun()
    log = Journal.objects.get(pk=claim.journal_id)
    assert (log.epoch, log.marks) == (epochs.FIRST, None)
    call_command("migrate", restored=True, verbosity=0)
    append(append(claim, 2), 2)
    second = epochs.read(connection.connection)
    log.refresh_from_db()
    assert (log.epoch, log.marks) == (epochs.FIRST, [4, second])
    assert [epochs.at(seq, log.epoch, log.marks) for seq in (1, 3, 4, 7)] == [1, 1, second, second]
    assert Journal.objects.get(pk=begun().journal_id).epoch == second
