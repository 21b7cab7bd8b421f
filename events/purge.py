"""Deletes logs: doomed at once, then swept in small steps, or dropped with their whole month.

A million rows in one DELETE would hold its locks and its snapshot for long and fill the WAL at
once. A step is a thousand rows of one journal, which is no longer written.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db import connection, transaction

from agui_host.backends.postgres import scope
from events import partitions
from events.models import Checkpoint, Doomed, Finding, Journal, OutlinePage
from events.partitions import Month
from events.sealed import sealing, sweeping

ROWS = 1_000
DELETE = "select agui_purge_events(%s, %s, %s)"


@transaction.atomic(savepoint=False)
def doom(journal_ids: Iterable[UUID]) -> int:
    """Doom the events of these closed journals, in the transaction that makes readers see it.

    Returns their size in bytes.
    """
    # First wait for who seals a log or stores its outline, then delete.
    journals = list(sealing.locked(journal_ids))
    keys = [journal.pk for journal in journals]
    sealed = sweeping.forget(keys)
    rows = [
        Doomed(journal_id=journal.pk, last=journal.head)
        for journal in journals
        if journal.pk not in sealed  # Its rows are doomed already, or gone.
    ]
    with scope.everywhere():  # a list that all teams share
        Doomed.objects.bulk_create(rows, ignore_conflicts=True)
    Finding.objects.filter(journal__in=keys).delete()
    Checkpoint.objects.filter(journal_id__in=keys).delete()
    Journal.objects.filter(pk__in=keys).update(bytes=0)
    OutlinePage.objects.filter(journal_id__in=keys).delete()
    return sum(journal.bytes for journal in journals)


def sweep(rows: int = ROWS) -> int | None:
    """Delete the next at most ``rows``: how many there were; None if nothing is doomed.

    Several may sweep at once: each takes a journal that no other has locked.
    """
    with transaction.atomic():
        doomed = Doomed.objects.select_for_update(skip_locked=True).order_by("pk").first()
        if doomed is None:
            return None
        upto = min(doomed.swept + rows, doomed.last)
        with connection.cursor() as cursor:
            # If a crash undoes this step, it is repeated; meanwhile no append waits for our flush.
            cursor.execute("set local synchronous_commit = off")
            cursor.execute(DELETE, [doomed.journal_id, doomed.swept, upto])
            gone = int(cursor.fetchone()[0])
        if upto < doomed.last:
            Doomed.objects.filter(pk=doomed.pk).update(swept=upto)
        else:
            doomed.delete()
        return gone


def drop(month: Month) -> bool:
    """Drop a month whose logs are all doomed or deleted; False if it was too busy."""
    if not partitions.drop(month):
        return False
    Doomed.objects.filter(pk__gte=month.low, pk__lt=month.high).delete()
    return True
