"""A team's threads: the list, newest activity first, and all events of one, page by page."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery

from agui_host.backends.postgres.servers.replica import reading
from agui_host.protocol.ids import Position
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from events import journal
from events.journal import Purged
from runs.access import access, cursors
from runs.access.threads import faced
from runs.models import Run, Thread, without_bodies

MAX_BYTES = 2 * 1024 * 1024


class Listed(NamedTuple):
    """A thread as lists show it: ``last`` is its newest run, ``started_by`` began the first."""

    thread: Thread
    last: Run
    started_by: str

    @property
    def moved_at(self) -> datetime:
        """When the thread last changed, by its newest run."""
        return self.last.ended_at or self.last.started_at or self.last.created_at


class Place(NamedTuple):
    """A reader's place in a thread's events: after an event of a run."""

    run: UUID
    position: Position


@reading
def newest(
    principal: Principal,
    *,
    agent: str | None = None,
    before: UUID | None = None,
    limit: int,
    tag: str | None = None,
    archived: bool | None = None,
    thread_id: str | None = None,
) -> list[Listed]:
    """At most ``limit`` threads with runs, whose newest run is older than ``before``.

    ``agent`` keeps threads that this agent answered last, ``tag`` tagged ones.
    """
    first = Run.objects.filter(thread=OuterRef("pk")).order_by("journal_id")
    visible = faced(access.visible_threads(principal)).filter(newest__isnull=False)
    threads: TeamQuerySet[Any] = visible.annotate(began=Subquery(first.values("started_by")[:1]))
    if before is not None:
        threads = threads.filter(newest__lt=before)
    if agent is not None:
        # By its id, so that the planner knows whether the agent answered often or once.
        agents = list(Agent.objects.for_team(principal.team).filter(slug=agent))
        answered = Run.objects.filter(agent__in=agents).values("journal_id")
        threads = threads.filter(newest__in=answered)
    if tag is not None:
        threads = threads.filter(tags__contains=[tag]).exclude(tags=[])  # as its index is made
    if archived is not None:
        threads = threads.filter(archived_at__isnull=not archived)
    if thread_id is not None:
        threads = threads.filter(thread_id=thread_id)
    rows: list[Any] = list(threads.order_by("-newest")[:limit])
    runs = without_bodies(Run.objects.already_found().select_related("agent"))
    newest_of = runs.in_bulk([row.newest for row in rows])
    return [Listed(row, newest_of[row.newest], row.began) for row in rows]


def events(thread: Thread, after: Place | None, limit: int) -> tuple[list[str], Place | None]:
    """The stored JSON of a thread's events in order, and the cursor of the next page, if any.

    A page has at most ``limit`` events and about ``MAX_BYTES``. Raises Purged, with the cursor of
    the oldest remaining event in its details, and BadCursor and Reset.
    """
    page: list[str] = []
    size, reached = 0, after
    for place, payload in _rows(thread, after):
        if len(page) == limit or size >= MAX_BYTES:
            return page, reached
        page.append(payload)
        size += len(payload)
        reached = place
    return page, None


def _beginning(thread: Thread) -> dict[str, str]:
    left = Run.objects.filter(thread=thread, purged_at=None).order_by("journal_id").first()
    return {"cursor": f"{left.pk}:0"} if left else {}


def _rows(thread: Thread, after: Place | None) -> Iterator[tuple[Place, str]]:
    runs = Run.objects.filter(thread=thread).order_by("journal_id")
    place = Position(0)
    if after is not None:
        runs = runs.filter(journal_id__gte=after.run)
        row = without_bodies(runs.select_related("journal")).filter(pk=after.run).first()
        if row is None:
            cursors.of_no_run(after.position)
        else:
            place = _place(row, after.position)
    for run_id, purged, head in runs.values_list("journal_id", "purged_at", "journal__head"):
        seq = place if after is not None and after.run == run_id else 0
        if purged and seq < head:
            raise Purged(details=_beginning(thread))
        while (page := journal.read_after(run_id, seq)).rows:
            for seq, _, payload in page.rows:
                yield Place(run_id, page.written.at(seq)), payload


def _place(run: Run, cursor: Position) -> Position:
    try:
        return cursors.place(run, cursor)
    except Purged:
        raise Purged(details=_beginning(run.thread)) from None
