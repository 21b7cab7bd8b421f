"""The feed of a team: its entries in an order that never changes, from a cursor on.

``FeedEntry`` explains why entries get their positions late. The process that numbers a team's has a
lock, so that positions are given out one batch after another; another one reads the numbered
entries.
"""

from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max, Min

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres import clock
from agui_host.errors import BadCursor
from agui_host.protocol.ids import Position, epoch_of
from events.journal import Purged
from runs.models import FeedEntry, without_bodies

PAGE = 200
KEPT = timedelta(days=30)
SWEPT = 1_000
LOCK = "select pg_try_advisory_xact_lock(hashtextextended('agui.feed.' || %s, 0))"
# Materialized: a nested loop would otherwise draw the numbers again for each row of the table.
NUMBER = """
with n as materialized (
    select id, nextval('runs_feed_position') as position
      from (select id from runs_feedentry where team_id = %s and position is null
             order by id limit 1000 for update skip locked) free)
update runs_feedentry e
   set position = n.position, epoch = nullif(current_setting('agui.epoch', true), '')::int8
  from n
 where e.id = n.id
"""


class Bounds(NamedTuple):
    """The positions of a team's oldest and newest entries; 0 if there is none."""

    oldest: int
    newest: int


def number(team: UUID) -> None:
    """Give the team's committed entries their positions."""
    if not FeedEntry.objects.filter(team=team, position=None).exists():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK, [str(team)])
        if cursor.fetchone()[0]:
            cursor.execute(NUMBER, [team])


def bounds(team: UUID) -> Bounds:
    """The oldest and newest position of the team's feed; 0 for an empty one."""
    numbered = FeedEntry.objects.filter(team=team, position__isnull=False)
    ends = numbered.aggregate(oldest=Min("position"), newest=Max("position"))
    return Bounds(ends["oldest"] or 0, ends["newest"] or 0)


def place(team: UUID, cursor: int | None) -> Position:
    """The position to read from; absent means from now on, 0 from the oldest entry.

    Raises BadCursor beyond the newest entry, Purged for an entry that is no longer there, Reset for
    a lost one.
    """
    number(team)
    oldest, newest = bounds(team)
    if cursor is None:
        return Position(newest, _epoch(team, newest) or epochs.FIRST)
    position = Position(cursor, epoch_of(cursor) or epochs.FIRST)
    is_swept = cursor and not newest and position.epoch == epochs.latest
    if 0 < cursor < oldest or is_swept:
        raise Purged.below(oldest)
    check(team, position, newest)
    if cursor > newest:
        raise BadCursor("The cursor is beyond the feed's newest entry.", details={"newest": newest})
    return position


def check(team: UUID, position: Position, newest: int) -> None:
    """Raises Reset unless the reader's entry is surely the current one.

    An entry that was deleted with its run since an earlier epoch counts as lost.
    """
    if not position or position.epoch == epochs.latest:
        return
    if position > newest or _epoch(team, position) != position.epoch:
        raise Reset.to(newest)


def _epoch(team: UUID, position: int) -> int | None:
    """That of an entry; None if it is not there."""
    if epochs.latest == epochs.FIRST:
        return epochs.FIRST
    rows = FeedEntry.objects.filter(team=team, position=position)
    entry = rows.only("position", "epoch").first()
    return None if entry is None else entry.cursor.epoch


def sweep() -> int:
    """Delete some entries that are older than ``KEPT``; returns how many."""
    rows = FeedEntry.objects.of_any_team()
    old = rows.filter(at__lt=clock.now() - KEPT).order_by("at").values_list("pk", flat=True)
    return rows.filter(pk__in=list(old[:SWEPT])).delete()[0]


def page(team: UUID, after: int) -> list[FeedEntry]:
    """The next entries, with their runs."""
    rows = FeedEntry.objects.filter(team=team, position__gt=after)
    rows = rows.select_related("run__thread", "run__agent")
    return list(without_bodies(rows, "run__").order_by("position")[:PAGE])
