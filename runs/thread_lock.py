"""The lock of a thread, first in the order of locks (``lifecycle``): who starts runs holds it."""

from typing import Any

from runs.models import Thread
from teams.models import Team


def made(team: Team, thread_id: str, **values: Any) -> tuple[Thread, bool]:
    """The thread of that name under its lock, and whether it was made here, with ``values``.

    Of two requests that make it at once, one inserts; the other waits for it and finds its row.
    """
    rows = Thread.objects.for_team(team).filter(thread_id=thread_id)
    locked = rows.select_for_update(no_key=True)
    if thread := locked.first():
        return thread, False
    new = Thread(team=team, thread_id=thread_id, **values)
    Thread.objects.bulk_create([new], ignore_conflicts=True)
    thread = locked.get()
    return thread, thread.pk == new.pk


def take(thread: Thread) -> None:
    """Lock a thread that is there."""
    Thread.objects.unscoped("the thread itself").select_for_update(no_key=True).get(pk=thread.pk)
