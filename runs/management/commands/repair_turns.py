"""``manage.py repair_turns``: turns that are missing from the history of their threads.

The ids of a thread's runs used to come from different clocks, and a history continues only with
runs whose ids are higher. The database's clock, ``created_at``, decides where the turns belong.
"""

from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from agui_host.backends.postgres import turns
from agui_host.protocol.fold.fold import Fold
from runs.lifecycle import history, thread_lock
from runs.models import ACTIVE, Run, Thread, ThreadHistory

# Runs that were made after a run of their thread with a higher id. PostgreSQL 15 has no max(uuid).
OUT_OF_ORDER = """
select thread_id, journal_id from (
    select thread_id, journal_id, created_at, ended_at, purged_at,
           max(journal_id::text collate "C") over (
               partition by thread_id order by created_at, journal_id
               rows between unbounded preceding and 1 preceding) as before
      from runs_run) run
 where journal_id::text collate "C" < before and ended_at is not null and purged_at is null
 order by thread_id, created_at, journal_id
"""


class Command(BaseCommand):
    """``manage.py repair_turns``."""

    help = "Put back the turns that a clock which was behind has lost. It can run again."

    def handle(self, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(OUT_OF_ORDER)
            rows = cursor.fetchall()
        repaired = busy = 0
        for thread, pairs in groupby(rows, itemgetter(0)):
            number = turns.wait(partial(repair, thread, [run for _, run in pairs]))
            if number is None:
                busy += 1
                self.stdout.write(f"thread {thread} has a run that has not ended")
            else:
                repaired += number
        self.stdout.write(f"{repaired} turns put back, {busy} threads left for another time")


def repair(thread_id: UUID, runs: list[UUID]) -> int | None:
    """Put those of these runs that are missing into the history; None for a busy thread."""
    with transaction.atomic():
        thread_lock.take(Thread.objects.of_any_team().get(pk=thread_id))
        own = Run.objects.of_one_thread().filter(thread=thread_id)
        if own.filter(status__in=ACTIVE).exists():
            return None
        stored = ThreadHistory.objects.filter(thread=thread_id).first()
        if stored is None:
            return 0
        order = list(own.order_by("created_at", "pk").values_list("pk", flat=True))
        fold, number = Fold.load(stored.fold), 0
        for run in runs:
            if run < stored.through and (fresh := _with(fold, run, order[order.index(run) + 1 :])):
                fold, number = fresh, number + 1
        if number:
            ThreadHistory.objects.filter(thread=thread_id).update(fold=fold.dump())
        return number


def _with(fold: Fold, run: UUID, later: list[UUID]) -> Fold | None:
    """The fold with the messages of ``run`` before those of later runs; None if it has them."""
    missing = _messages(run)
    if not missing or any(fold.has_message(message["id"]) for message in missing):
        return None
    stored = fold.messages
    places = {message["id"]: place for place, message in enumerate(stored)}
    following = (
        places[message["id"]] for each in later for message in _messages(each)
        if message["id"] in places
    )  # fmt: skip
    place = next(following, len(stored))
    fresh = Fold([*stored[:place], *missing, *stored[place:]], fold.state)
    fresh.started, fresh.terminal = fold.started, fold.terminal
    fresh.raised, fresh.questions = fold.raised, fold.questions
    return fresh


def _messages(run: UUID) -> list[dict[str, Any]]:
    own = Fold()
    history.feed(own, run)
    return own.messages
