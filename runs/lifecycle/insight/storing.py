"""Storing the tool calls and issues of runs, soon after they have ended: a worker does it.

No run waits for it: a trigger leaves a row, ``UnreadRun``, with the end of a run. The teams take
turns, the oldest runs of each come first. Reading a run again gives the same rows.

A purge or an erasure locks the journals of its runs first. Here they are locked as well, and locked
ones are left for the next time: rows of a run never outlive it.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef

from agui_host.protocol.fold.calls import Calls
from agui_host.teams.models import Team
from runs.lifecycle.insight import doubles, reading
from runs.lifecycle.insight.fingerprint import fingerprint, normalised
from runs.lifecycle.insight.reading import Read, RunRow
from runs.models import Issue, IssueRun, TeamUsage, ToolCall, UnreadRun

log = structlog.get_logger(__name__)

BATCH = 50
"""Runs of a team before the next team's turn, stored in one transaction."""
MARKED = 1_000
"""Runs of earlier releases that become unread at once."""
REST = 1.0
"""Seconds of rest for each second of work: live runs share the processor."""
LAST = UUID(int=2**128 - 1)
"""``read_through`` of a team of which all earlier runs are unread, or were read."""
# Shared with the trigger that follows a thread's visibility (runs/sql/insight.sql).
LOCK = "select pg_advisory_xact_lock(hashtextextended('agui.insight.' || %s::text, 0))"
FREE = "select id from events_journal where id = any (%s) order by id for share skip locked"
OWNERS = """
select run.journal_id, case thread.visibility when 'private' then thread.creator else '' end
  from runs_run run join runs_thread thread on thread.id = run.thread_id
 where run.journal_id = any (%s) and run.purged_at is null
"""
EARLIER = """
with page as (
    select journal_id from runs_run
     where team_id = %(team)s and purged_at is null and ended_at is not null
       and journal_id > %(after)s and (status = 'failed' or tool_calls is distinct from 0)
     order by journal_id limit %(most)s),
marked as (
    insert into runs_unreadrun (run_id, team_id) select journal_id, %(team)s from page
        on conflict do nothing)
select journal_id from page order by journal_id desc limit 1
"""
# The result of a call that an earlier run of the thread made: an approval, a tool of the client.
ANSWER = """
update runs_toolcall call set status = answer.status, result = answer.result
  from unnest(%s::text[], %s::text[], %s::text[]) answer (call, status, result)
 where call.run_id in (select journal_id from runs_run where thread_id = %s and journal_id < %s)
   and call.call = answer.call and call.status = 'none'
returning call.root
"""


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Read unread runs, for so many seconds at most; how many runs. Idempotent."""
    until, total = time.monotonic() + seconds, 0
    mark_earlier(until)
    while teams := _teams():
        before = total
        for team_id in teams:
            if leaving() or time.monotonic() >= until:
                return total
            began = time.monotonic()
            total += _turn(team_id)
            time.sleep(REST * (time.monotonic() - began))
        if total == before:
            break  # the others are locked
    drop_empty()
    return total


def mark_earlier(until: float) -> None:
    """Make the runs of earlier releases unread, the oldest first, until ``time.monotonic()``."""
    rows = TeamUsage.objects.exclude(read_through=LAST)
    for team_id, through in rows.values_list("team_id", "read_through"):
        while through != LAST and time.monotonic() < until:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(
                    EARLIER, {"team": team_id, "after": through or UUID(int=0), "most": MARKED}
                )
                last = cursor.fetchone()
                through = LAST if last is None else last[0]
                TeamUsage.objects.filter(team=team_id).update(read_through=through)


def store(team_id: UUID, run_ids: list[UUID]) -> int:
    """Store the calls and failures of these runs of a team; how many. Locked ones are left."""
    runs = reading.rows_of(run_ids)
    reads = [_read(run) for run in runs.values()]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(FREE, [run_ids])
        free = {run_id for (run_id,) in cursor.fetchall()}
        cursor.execute(LOCK, [team_id])
        # In a statement after the locks: it sees the purges and the visibility before them.
        cursor.execute(OWNERS, [list(free)])
        owners = dict(cursor.fetchall())
        ready = [read for read in reads if read.run.id in owners]
        _store_calls(ready, owners)
        _store_failures(team_id, [read.run for read in ready if read.run.has_failed], owners)
        done = [run_id for run_id in run_ids if run_id in free or run_id not in runs]
        UnreadRun.objects.filter(run_id__in=done).delete()
    return len(done)


def forget(run_ids: Sequence[UUID]) -> None:
    """Delete the rows of these runs, in the transaction that purges them."""
    calls = ToolCall.objects.already_found().filter(run__in=run_ids)
    roots = set(calls.values_list("root", flat=True))
    calls.delete()
    doubles.mark(roots)
    IssueRun.objects.already_found().filter(run__in=run_ids).delete()


def drop_empty() -> None:
    """Delete the issues of which no run is stored any longer."""
    empty = Issue.objects.of_any_team().filter(
        ~Exists(IssueRun.objects.filter(issue=OuterRef("pk")))
    )
    for team_id in set(empty.values_list("team_id", flat=True)):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(LOCK, [team_id])
            empty.filter(team=team_id).delete()


def _turn(team_id: UUID) -> int:
    """Store the oldest unread runs of a team; how many. A run that cannot be stored is left out."""
    rows = UnreadRun.objects.filter(team=team_id).order_by("run_id")
    run_ids = list(rows.values_list("run_id", flat=True)[:BATCH])
    try:
        return store(team_id, run_ids)
    except (OperationalError, InterfaceError):
        raise  # That is no fault of these runs.
    except Exception:
        return sum(_store_alone(team_id, run_id) for run_id in run_ids)


def _store_alone(team_id: UUID, run_id: UUID) -> int:
    try:
        return store(team_id, [run_id])
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("calls.not_read", run=str(run_id))
        UnreadRun.objects.filter(run_id=run_id).delete()
        return 1


def _teams() -> list[UUID]:
    # A look at the index for each team: a distinct would read all unread runs for each turn.
    unread = Exists(UnreadRun.objects.filter(team=OuterRef("pk")))
    return list(Team.objects.filter(unread).order_by("pk").values_list("pk", flat=True))


def _read(run: RunRow) -> Read:
    """A run and its calls; without them if its log cannot be read."""
    try:
        return reading.read(run)
    except (OperationalError, InterfaceError):
        raise  # That is no fault of this run.
    except Exception:
        log.exception("calls.not_read", run=str(run.id))
        return Read(run, Calls(), run.id)


def _store_calls(reads: Sequence[Read], owners: dict[UUID, str]) -> None:
    run_ids = [read.run.id for read in reads]
    ToolCall.objects.already_found().filter(run__in=run_ids).delete()
    ToolCall.objects.bulk_create(
        [row for read in reads for row in _rows(read, owners[read.run.id])], batch_size=1_000
    )
    roots = {read.root for read in reads if read.calls.calls}
    with connection.cursor() as cursor:
        for run, calls, _ in reads:
            if outcomes := calls.elsewhere:
                columns = zip(*((one.id, one.status, one.result) for one in outcomes), strict=True)
                cursor.execute(ANSWER, [*map(list, columns), run.thread, run.id])
                roots |= {root for (root,) in cursor.fetchall()}
    doubles.mark(roots)


def _rows(read: Read, owner: str) -> Iterable[ToolCall]:
    run = read.run
    for call in read.calls.calls:
        yield ToolCall(
            team_id=run.team, run_id=run.id, agent_id=run.agent, owner=owner, root=read.root,
            seq=call.seq, call=call.id, name=call.name, digest=call.digest, status=call.status,
            at=reading.moment(call.at, run.ended_at), took_ms=call.took_ms, result=call.result,
        )  # fmt: skip


def _store_failures(team_id: UUID, runs: Sequence[RunRow], owners: dict[UUID, str]) -> None:
    issues: dict[str, Issue] = {}
    of_run: dict[UUID, str] = {}
    for run in runs:
        message = normalised(run.error)
        digest = of_run[run.id] = fingerprint(run.agent, run.code, message, run.raised)
        issues[digest] = Issue(
            team_id=team_id, agent_id=run.agent, fingerprint=digest, error_code=run.code,
            message=message,
        )  # fmt: skip
    Issue.objects.bulk_create(issues.values(), ignore_conflicts=True)
    stored = Issue.objects.filter(team=team_id, fingerprint__in=issues)
    ids = dict(stored.values_list("fingerprint", "pk"))
    IssueRun.objects.bulk_create(
        [
            IssueRun(
                team_id=team_id, run_id=run.id, issue_id=ids[of_run[run.id]],
                owner=owners[run.id], at=run.ended_at,
            )
            for run in runs
        ],
        ignore_conflicts=True,
    )  # fmt: skip
