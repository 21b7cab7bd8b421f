"""The end of a run: its status, and the row by which admission counts what it stored."""

from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from runs.lifecycle.statements import figures
from runs.lifecycle.statuses import leading_to
from runs.models import Status

# Milliseconds are as many as a column can hold; null if one of the moments is unknown.
END = """
with ended as (
    update runs_run
       set status = %(status)s, ended_at = %(at)s, result = %(result)s, usage = %(usage)s,
           error_code = %(error_code)s, error_message = %(error_message)s,
           tool_calls = %(tool_calls)s, subagents = %(subagents)s, tokens_in = %(tokens_in)s,
           tokens_out = %(tokens_out)s, cost = %(cost)s,
           queued_ms = least(2147483647, greatest(0, 1000 * extract(epoch from
               coalesce(started_at, %(at)s) - created_at))),
           ttft_ms = case when %(first)s::numeric is not null and started_at is not null then
               least(2147483647, greatest(0, 1000 * (
                   %(first)s::numeric - extract(epoch from started_at)))) end
     where journal_id = %(run)s and status = any (%(endable)s) returning journal_id, team_id)
insert into runs_endedrun (run_id, team_id, bytes)
select ended.journal_id, ended.team_id, journal.bytes
  from ended join events_journal journal on journal.id = ended.journal_id
"""
EMPTY = {"result": None, "usage": None, "error_code": "", "error_message": ""} | figures.of(
    {}, None
)


def store(run_id: UUID, status: Status, **columns: Any) -> bool:
    """End the run, unless it has ended: the first writer wins. In the terminal event's transaction.

    Once per run: what it stored is counted by a row of its own.
    """
    values = {
        **EMPTY,
        **columns,
        "run": run_id,
        "status": status.value,
        "at": timezone.now(),
        "endable": leading_to(status),
    }
    with connection.cursor() as cursor:
        cursor.execute(END, values)
        return bool(cursor.rowcount)
