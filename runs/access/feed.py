"""The team's feed, as far as a principal sees the runs in it."""

from typing import Any, NamedTuple

from agui_project.errors import Forbidden
from runs.access import access
from runs.lifecycle import feed
from runs.models import FeedEntry, InterruptStatus, Status
from teams.authentication import Principal

RUNS = {Status.QUEUED: "run.created", Status.RUNNING: "run.started"}
INTERRUPTS = {
    InterruptStatus.OPEN: "interrupt.opened",
    InterruptStatus.EXPIRED: "interrupt.expired",
}
"""The rest is ``run.succeeded`` and so on, and ``interrupt.answered``."""


class News(NamedTuple):
    """The visible entries of a stretch of the feed, and the position of its end."""

    entries: list[dict[str, Any]]
    position: int


def place(principal: Principal, cursor: int | None) -> int:
    """The position to read from. Raises Forbidden, BadCursor, Purged."""
    access.require(principal, "view")
    if principal.bound is not None:
        raise Forbidden("A ticket for a run or thread does not show the team's feed.")
    return feed.place(principal.team.pk, cursor)


def page(principal: Principal, after: int) -> News:
    """What the principal may see of the next entries. Raises Forbidden."""
    rows = feed.page(principal.team.pk, after)
    if not rows:
        return News([], after)
    runs = access.visible(principal).filter(pk__in={row.run_id for row in rows})
    visible = set(runs.values_list("pk", flat=True))
    return News([_fields(row) for row in rows if row.run_id in visible], rows[-1].position or after)


def _fields(row: FeedEntry) -> dict[str, Any]:
    run = row.run
    fields = {
        "cursor": row.position,
        "type": _type(row),
        "status": row.status,
        "at": row.at,
        "run": run.pk,
        "run_id": run.run_id,
        "thread_id": run.thread.thread_id,
        "agent": run.agent.slug,
    }
    return fields if row.interrupt is None else fields | {"interrupt": row.interrupt}


def _type(row: FeedEntry) -> str:
    if row.interrupt is not None:
        return INTERRUPTS.get(InterruptStatus(row.status), "interrupt.answered")
    return RUNS.get(Status(row.status), f"run.{row.status}")
