"""How much of a run's log a reader sees: all of it, or only the run alone.

A reader of the thread gets the whole log. A reader with a grant or a link for one run gets it
without parts older than the run (``agui_host/protocol/views/alone.py``). Only this module
decides it.
"""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from agui_host.backends.postgres import scope
from agui_host.protocol.views.alone import REMEMBERED, Alone
from agui_host.teams.authentication import Principal
from events import journal
from runs.access import access
from runs.models import Run


class Sight(NamedTuple):
    """The sight of one run alone. ``begins``: it is the first of its thread."""

    run: UUID
    begins: bool

    def view(self, after: int = 0) -> Alone:
        """The view of the run's log for a reader who continues after the event ``after``."""
        view = Alone(begins=self.begins)
        for payload in journal.of_types(self.run, REMEMBERED, after) if after else ():
            view.see(payload.encode())
        return view


def of(principal: Principal, run: Run) -> Sight | None:
    """The sight of a run that the principal may view; None for its whole log."""
    if access.sees_thread(principal, run):
        return None
    scope.reach(run.team_id)
    return Sight(run.pk, run.begins_thread)


def view(principal: Principal, run: Run, after: int = 0) -> Alone | None:
    """``Sight.view``; None for a reader of the whole log."""
    sight = of(principal, run)
    return None if sight is None else sight.view(after)


def is_whole(principal: Principal, run: Run) -> bool:
    """Whether the principal certainly sees all, without a query; if not, ``of`` decides."""
    return Run.thread.is_cached(run) and access.is_own(principal, run.thread)


def seen_whole(principal: Principal, run_ids: Collection[UUID]) -> set[UUID]:
    """Those of these runs whose whole logs the principal sees now."""
    runs = Run.objects.already_found().filter(pk__in=run_ids).select_related("thread")
    columns = ("team_id", "thread__team_id", "thread__visibility", "thread__creator")
    return {run.pk for run in runs.only(*columns) if access.sees_thread(principal, run)}


def remaining(principal: Principal, run_ids: Collection[UUID], *, whole: bool) -> Collection[UUID]:
    """Those of these runs that are readable still, and their ``whole`` logs if those are sent.

    Checked while streams are open. A reader who may see more than before gets it with the next one.
    """
    readable = access.readable(principal, run_ids)
    return seen_whole(principal, readable) if whole and readable else readable


def of_each(principal: Principal, run_ids: Collection[UUID], owner: UUID) -> dict[UUID, Sight]:
    """The sights of those of these runs of one team that the principal sees alone."""
    scope.reach(owner)
    runs = Run.objects.already_found().select_related("thread").defer("input", "context", "result")
    sights = (of(principal, run) for run in runs.filter(pk__in=run_ids))
    return {sight.run: sight for sight in sights if sight is not None}
