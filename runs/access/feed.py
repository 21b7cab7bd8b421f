"""The team's feed, as far as a principal sees the runs in it."""

from typing import Any, NamedTuple

from agui_host.errors import Forbidden
from agui_host.protocol.ids import Position
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.lifecycle import feed
from runs.models import FeedEntry


class News(NamedTuple):
    """The visible entries of a stretch of the feed, and the position of its end."""

    entries: list[dict[str, Any]]
    position: Position


def place(principal: Principal, cursor: int | None) -> Position:
    """The position to read from. Raises Forbidden, BadCursor, Purged, Reset."""
    access.require(principal, "view")
    if principal.bound is not None:
        raise Forbidden("A ticket for a run or thread does not show the team's feed.")
    return feed.place(principal.team.pk, cursor)


def page(principal: Principal, after: Position) -> News:
    """The visible part of the next entries. Raises Forbidden."""
    rows = feed.page(principal.team.pk, after)
    if not rows:
        return News([], after)
    runs = access.visible(principal).filter(pk__in={row.run_id for row in rows})
    visible = set(runs.values_list("pk", flat=True))
    return News([_fields(row) for row in rows if row.run_id in visible], rows[-1].cursor)


def _fields(row: FeedEntry) -> dict[str, Any]:
    run = row.run
    fields = {
        "cursor": row.cursor,
        "type": row.event,
        "status": row.status,
        "at": row.at,
        "run": run.pk,
        "run_id": run.run_id,
        "thread_id": run.thread.thread_id,
        "agent": run.agent.slug,
    }
    return fields if row.interrupt is None else fields | {"interrupt": row.interrupt}
