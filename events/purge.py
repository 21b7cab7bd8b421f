"""Deletes logs: doomed at once, then swept in small steps, or dropped with their whole month.

A million rows in one DELETE would hold its locks and its snapshot for long and fill the WAL at
once. A step is a thousand rows of journals that are no longer written.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID

from django.db import connection, transaction

from agui_host.backends.postgres import scope
from events import partitions
from events.models import Checkpoint, Doomed, Finding, Journal, OutlinePage
from events.partitions import Month
from events.sealed import sealing, sweeping

ROWS = 1_000
LOGS = 500
"""How many short logs one step takes at most."""
DELETE = "select agui_purge_logs(%s, %s, %s)"


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
    """Delete the next at most ``rows``, of several logs: how many; None if nothing is doomed.

    Several may sweep at once: each takes journals that no other has locked.
    """
    with transaction.atomic():
        free = Doomed.objects.select_for_update(skip_locked=True).order_by("pk")
        parts = list(_within(free[:LOGS], rows))
        if not parts:
            return None
        journals = [doomed.journal_id for doomed, _ in parts]
        uptos = [upto for _, upto in parts]
        with connection.cursor() as cursor:
            # If a crash undoes this step, it is repeated; meanwhile no append waits for our flush.
            cursor.execute("set local synchronous_commit = off")
            cursor.execute(DELETE, [journals, [doomed.swept for doomed, _ in parts], uptos])
            gone = int(cursor.fetchone()[0])
        last, upto = parts[-1]
        if upto < last.last:
            Doomed.objects.filter(pk=last.pk).update(swept=upto)
            journals.pop()
        Doomed.objects.filter(pk__in=journals).delete()
        return gone


def _within(doomed_rows: Iterable[Doomed], room: int) -> Iterator[tuple[Doomed, int]]:
    """Those logs for whose events there is room, and up to which event; the last one in part."""
    for doomed in doomed_rows:
        upto = min(doomed.swept + room, doomed.last)
        yield doomed, upto
        room -= upto - doomed.swept
        if room <= 0:
            return


def drop(month: Month) -> bool:
    """Drop a month whose logs are all doomed or deleted; False if it was too busy."""
    if not partitions.drop(month):
        return False
    Doomed.objects.filter(pk__gte=month.low, pk__lt=month.high).delete()
    return True
