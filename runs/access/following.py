"""Which runs a reader of a thread gets, one after another: those of now, and later ones."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from agui_host.errors import NotFound
from agui_host.teams.authentication import Principal
from runs.access import access, cursors
from runs.models import ACTIVE, Run

PAGE = 200


class Place(NamedTuple):
    """A position in a thread: a run, and the newest of its events that the reader has."""

    run: UUID
    after: int


def thread_of(principal: Principal, thread_id: str) -> UUID:
    """The team's thread of that name, as far as the principal sees a run in it. Raises NotFound."""
    runs = access.visible(principal).filter(thread__thread_id=thread_id)
    thread: UUID | None = runs.order_by().values_list("thread_id", flat=True).first()
    if thread is None:
        raise NotFound("There is no such thread.")
    return thread


def place_in(principal: Principal, thread: UUID, place: Place) -> Place:
    """The position, if it is one of this thread. Raises NotFound, BadCursor, Purged, Reset."""
    try:
        run = access.find(principal, place.run)
    except NotFound:
        cursors.of_no_run(place.after)
        raise
    if run.thread_id != thread:
        raise NotFound("There is no such run in this thread.")
    return Place(run.pk, cursors.place(run, place.after))


def first(principal: Principal, thread: UUID, *, whole: bool) -> UUID | None:
    """The oldest run of the thread, or, unless ``whole``, the oldest that has not ended."""
    runs = access.visible(principal).filter(thread_id=thread, purged_at=None)
    if not whole:
        runs = runs.filter(status__in=ACTIVE)
    oldest: UUID | None = runs.order_by("journal_id").values_list("pk", flat=True).first()
    return oldest


def newest(principal: Principal, thread: UUID) -> UUID:
    """The thread's newest run. Raises NotFound."""
    runs = access.visible(principal).filter(thread_id=thread)
    run: UUID | None = runs.order_by("-journal_id").values_list("pk", flat=True).first()
    if run is None:
        raise NotFound("There is no such thread.")
    return run


def page(principal: Principal, thread: UUID, after: UUID | None) -> list[UUID]:
    """The next runs of the thread after ``after``, in their order, at most ``PAGE``."""
    runs = access.visible(principal).filter(thread_id=thread, purged_at=None)
    if after is not None:
        runs = runs.filter(journal_id__gt=after)
    return list(runs.order_by("journal_id").values_list("pk", flat=True)[:PAGE])


def since(principal: Principal, threads: Collection[UUID], floor: UUID) -> list[tuple[UUID, UUID]]:
    """(thread, run) of the runs in these threads whose ids are above ``floor``, in their order."""
    runs = access.visible(principal).filter(thread_id__in=threads, journal_id__gt=floor)
    return list(runs.order_by("journal_id").values_list("thread_id", "pk"))


def made_since(threads: Collection[UUID], floor: UUID) -> list[tuple[UUID, UUID]]:
    """As ``since``, without regard to rights: it shows whether there is anything new."""
    runs = Run.objects.of_any_team().filter(thread_id__in=threads, journal_id__gt=floor)
    return list(runs.order_by("journal_id").values_list("thread_id", "pk"))
