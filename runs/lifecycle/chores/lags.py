"""How far the chores are behind: the age of the oldest run or message that waits for each.

A look takes a few steps of indexes for each team for which anything waits, and is kept for
``KEPT`` seconds, since probes come often.
"""

import threading
import time
from collections.abc import Mapping
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from agui_host.backends.postgres import scope
from runs.lifecycle import jobs
from runs.lifecycle.words.storing import OF_LIVE

KEPT = 10.0
BOUNDS: Mapping[str, float] = {"words": 60, "outlines": 600, "purge": 3_600, "webhooks": 60}
"""The chores, and the seconds after which each is late: /ready and the page of limits name it."""

# An ended run without its words, or with those of its beginning, or that is not marked yet. One of
# a renamed thread is found by its old title until then, and does not count.
WORDS = """
with recursive waiting (team) as (
    (select team_id from runs_runwords where due > 0 order by team_id limit 1)
    union all
    select (select w.team_id from runs_runwords w where w.due > 0 and w.team_id > waiting.team
             order by w.team_id limit 1)
      from waiting where waiting.team is not null)
select min(closed_at) from (
    select oldest.closed_at
      from waiting cross join lateral (
          select journal.closed_at
            from runs_runwords w join events_journal journal on journal.id = w.run_id
           where w.team_id = waiting.team and w.due > 0 and (w.words is null or w.due = %(of_live)s)
             and journal.closed_at is not null
           order by w.run_id limit 1) oldest
    union all
    (select journal.closed_at
       from runs_run run join events_journal journal on journal.id = run.journal_id
      where run.journal_id > coalesce(
                (select run_id from runs_runwords order by run_id desc limit 1), %(nil)s)
        and run.purged_at is null and journal.closed_at is not null
      order by run.journal_id limit 1)) either
"""
OUTLINES = """
select min(event.at)
  from procrastinate_jobs job
  join procrastinate_events event on event.job_id = job.id and event.type = 'deferred'
 where job.status = 'todo' and job.priority <= %(outlines)s
"""
# The oldest run of each team that has had its time, and that no hold keeps.
PURGE = """
select min(oldest.ended_at + limits.kept)
  from teams_team team
  left join teams_teamlimits own on own.team_id = team.id
  cross join lateral (
      select coalesce(own.retention_days, %(days)s) * interval '1 day' as kept) limits
  cross join lateral (
      select run.ended_at
        from runs_run run join runs_thread thread on thread.id = run.thread_id
       where run.team_id = team.id and run.purged_at is null and not thread.legal_hold
         and run.ended_at < now() - limits.kept
         and run.journal_id < (lpad(to_hex(
             (extract(epoch from now() - limits.kept) * 1000)::bigint), 12, '0')
             || repeat('0', 20))::uuid
       order by run.journal_id limit 1) oldest
 where not team.legal_hold and limits.kept > interval '0'
"""
WEBHOOKS = """
with recursive waiting (team) as (
    (select team_id from runs_webhookdelivery where status = 'pending' order by team_id limit 1)
    union all
    select (select d.team_id from runs_webhookdelivery d
             where d.status = 'pending' and d.team_id > waiting.team order by d.team_id limit 1)
      from waiting where waiting.team is not null)
select min(oldest.due_at)
  from waiting
  join teams_team team on team.id = waiting.team and team.archived_at is null
  cross join lateral (
      select d.due_at
        from runs_webhookdelivery d
        join runs_webhook hook on hook.id = d.webhook_id
         and hook.enabled and hook.failing_since is null
       where d.team_id = waiting.team and d.status = 'pending' and d.due_at <= now()
       order by d.due_at limit 1) oldest
"""
STATEMENTS = {"words": WORDS, "outlines": OUTLINES, "purge": PURGE, "webhooks": WEBHOOKS}
LAG = "select greatest(0, extract(epoch from now() - ({statement})))::float8"

_lock = threading.Lock()
_read_at = float("-inf")
_lags: dict[str, float] = {}


def read() -> dict[str, float]:
    """The lag of every chore in seconds, 0 if nothing waits; from the database."""
    values: dict[str, UUID | int] = {
        "nil": UUID(int=0),
        "of_live": OF_LIVE,
        "outlines": jobs.LAST + jobs.LEVELS,
        "days": settings.AGUI_LIMIT_RETENTION_DAYS,
    }
    lags = dict[str, float]()
    with scope.everywhere(), connection.cursor() as cursor:
        for chore, statement in STATEMENTS.items():
            cursor.execute(LAG.format(statement=statement), values)
            lags[chore] = cursor.fetchone()[0] or 0.0
    return lags


def recent() -> dict[str, float]:
    """``read``, from at most ``KEPT`` seconds ago."""
    global _read_at, _lags
    with _lock:
        if time.monotonic() - _read_at > KEPT:
            _lags, _read_at = read(), time.monotonic()
        return _lags


def late() -> list[str]:
    """The chores that are behind by more than their bounds; none while this cannot be read."""
    try:
        return [chore for chore, seconds in recent().items() if seconds > BOUNDS[chore]]
    except (DatabaseError, InterfaceError):
        return []
