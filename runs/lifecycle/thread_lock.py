"""The lock of a thread, first in the order of locks (``lifecycle``); every start of a run takes it.

No caller waits for it in the database, where that would take a connection. If it is taken, the
caller gets ``turns.NotYet``, and ``turns`` lets the requests for one thread through in order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError
from psycopg.errors import LockNotAvailable

from agui_host.backends.postgres import turns
from agui_host.teams.models import Team
from runs.models import Thread


def made(team: Team, thread_id: str, **values: Any) -> tuple[Thread, bool]:
    """The thread of that name under its lock; and whether it was made here, with ``values``.

    Of two requests that make it at once, one inserts; the other waits for it and finds its row.
    Raises turns.NotYet.
    """
    rows = Thread.objects.for_team(team).filter(thread_id=thread_id)
    locked = rows.select_for_update(no_key=True, nowait=True)
    with _or_not_yet(team.pk, thread_id):
        if thread := locked.first():
            return thread, False
        new = Thread(team=team, thread_id=thread_id, **values)
        Thread.objects.bulk_create([new], ignore_conflicts=True)
        thread = locked.get()
        return thread, thread.pk == new.pk


def take(thread: Thread) -> None:
    """Lock an existing thread. Raises turns.NotYet."""
    rows = Thread.objects.already_found().filter(pk=thread.pk)
    with _or_not_yet(thread.team_id, thread.thread_id):
        rows.select_for_update(no_key=True, nowait=True).get()


@contextmanager
def _or_not_yet(*key: Any) -> Iterator[None]:
    turns.check(key)
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise turns.NotYet(key) from None
