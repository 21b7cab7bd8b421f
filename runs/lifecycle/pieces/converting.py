"""Long texts that were stored whole, by an earlier release or an import: stored in pieces."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Func, IntegerField, QuerySet

from agui_host.backends.postgres import turns
from agui_host.protocol.strict_json import loads
from runs.lifecycle import thread_lock
from runs.lifecycle.pieces import storing
from runs.models import ENDED, Run, Thread, ThreadHistory, whole_size

BATCH = 200
"""Threads that one query finds."""
# A thread with one run repeats nothing. The size of a value that is stored elsewhere is read
# without the value.
FOUND = """
select thread.id from runs_thread thread
 where thread.id > %(after)s and (
       select count(*) from (
           select from runs_run run where run.thread_id = thread.id limit 2) two) = 2
   and (exists (
           select from runs_run run where run.thread_id = thread.id and run.status = any (%(ended)s)
              and octet_length(run.input) >= %(size)s and left(run.input, 1) <> %(mark)s)
        or exists (
           select from runs_threadhistory history where history.thread_id = thread.id
              and octet_length(history.fold) >= %(size)s and left(history.fold, 1) <> %(mark)s))
 order by thread.id limit %(batch)s
"""


class Converted(NamedTuple):
    """How many inputs and folds of a thread are in pieces now."""

    inputs: int
    folds: int


def convert() -> Iterator[Converted]:
    """Convert thread after thread, each in a transaction; it can be interrupted and run again."""
    after = UUID(int=0)
    while threads := _next(after):
        for thread in threads:
            yield turns.wait(partial(_convert, thread))
        after = threads[-1]


def _next(after: UUID) -> list[UUID]:
    values: dict[str, Any] = {
        "after": after, "ended": list(ENDED), "size": storing.SHORT, "mark": storing.MARK,
        "batch": BATCH,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(FOUND, values)
        return [thread for (thread,) in cursor.fetchall()]


def _convert(thread_id: UUID) -> Converted:
    with transaction.atomic():
        thread = Thread.objects.of_any_team().filter(pk=thread_id).first()
        if thread is None:
            return Converted(0, 0)
        thread_lock.take(thread)
        runs = Run.objects.of_one_thread().filter(thread=thread_id, status__in=ENDED)
        folds = ThreadHistory.objects.filter(thread=thread_id)
        inputs = 0
        for run_id in _long(runs, "input"):
            text = runs.values_list("input", flat=True).get(pk=run_id)
            stored = storing.input_of(thread_id, text, loads(text.encode()))
            inputs += 0 if stored == text else runs.filter(pk=run_id).update(input=stored)
        changed = 0
        for key in _long(folds, "fold"):
            text = folds.select_for_update().values_list("fold", flat=True).get(pk=key)
            stored = storing.fold_of(thread_id, text)
            changed += 0 if stored == text else folds.update(fold=stored)
        return Converted(inputs, changed)


def _long(rows: QuerySet[Any], name: str) -> list[UUID]:
    """The keys of the rows whose text is long, and not in pieces."""
    sizes = rows.annotate(
        size=whole_size(name),
        stored=Func(F(name), function="octet_length", output_field=IntegerField()),
    )
    return list(
        sizes.filter(size__gte=storing.SHORT, size=F("stored")).values_list("pk", flat=True)
    )
