"""The epoch of the database's history, and from which event on a log was written in a newer one."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from agui_host.backends import epochs
from agui_host.protocol.encoding import Record
from events import journal
from events.models import Epoch, Journal
from tests.events.first_epoch import first_epoch

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("first_epoch")]
__all__ = ["first_epoch"]


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
    append(claim, 2)
    log.refresh_from_db()
    assert log.marks is None, "its writer knows that nothing is missing"
    second = epochs.read(connection.connection)
    taken = journal.take_over(claim.journal_id)
    assert taken is not None
    assert (taken.head, taken.epoch) == (5, second)
    append(append(taken, 2), 2)
    log.refresh_from_db()
    assert (log.epoch, log.marks) == (epochs.FIRST, [6, second])
    assert [log.written.at(seq).epoch for seq in (1, 5, 6, 9)] == [1, 1, second, second]
    assert Journal.objects.get(pk=begun().journal_id).epoch == second
