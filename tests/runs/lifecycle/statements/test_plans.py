"""The messages of a run read no table as a whole, though their plans are made while it is small."""

from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone

from agui_host.teams.models import TeamLimits
from events.journal import Batch
from events.writer.commits import store_in_one_message
from runs.lifecycle import admission
from runs.lifecycle.statements import ends
from runs.models import Run, Status
from runs.worker.taking import take
from tests.cast import Cast, start
from tests.events.records import whole_log
from tests.runs.jobs import a_worker
from tests.runs.lifecycle.statements.test_at_once import at_once, request

pytestmark = pytest.mark.django_db

TURNS = 12
"""More than a connection takes to settle on a plan, which it keeps from then on."""
AT_ONCE = 3
TABLES = (
    "runs_run", "runs_thread", "runs_endedrun", "runs_teamusage", "runs_webhook", "events_journal",
)  # fmt: skip
COUNTS = """
select relname, seq_tup_read from pg_stat_xact_user_tables
 where relname = any (%s)
"""
MANY = 200
DEAD = 400
"""Rows after which PostgreSQL prefers an index of many pages for the one row that it knows of."""
READ = """
select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables
 where relname = 'runs_run'
"""


def taken(worker: int) -> list[UUID]:
    """The runs that were taken and claimed."""
    with connection.cursor() as cursor:
        values = {"worker": worker, "queues": ["default"], "at": timezone.now(), "most": AT_ONCE}
        cursor.execute(take.TAKE, values)
        run_at = [column.name for column in cursor.description].index("run")
        return [row[run_at] for row in cursor.fetchall()]


def whole_runs(cast: Cast, worker: int, turn: int) -> None:
    """Some runs, from start to end, as web process, worker and writer ask for them."""
    started = [at_once(cast, request(f"{turn}-{number}")) for number in range(AT_ONCE)]
    runs = taken(worker)
    assert runs == [run.pk for run in started if run]
    store_in_one_message(
        [
            (Batch(run_id, 1, 1, whole_log(4)), [ends.statement(run_id, Status.SUCCEEDED)])
            for run_id in runs
        ]
    )
    assert admission.teams_with_next(runs)() == []
    assert taken(worker) == []


def by_statements(cast: Cast) -> None:
    """A run whose rows the functions do not write: the plans of its triggers are made elsewhere."""
    now, run = timezone.now(), Run.objects.filter(pk=start(cast.alice).pk)
    run.update(status=Status.RUNNING, started_at=now, due_at=None)
    run.update(status=Status.CANCELLED, ended_at=now)


def test_no_message_of_a_run_reads_a_whole_table(cast: Cast) -> None:
    """Plans for a table of one page would read all of it, and do so until the next ANALYZE."""
    with connection.cursor() as cursor:
        worker = a_worker()
        whole_runs(cast, worker, 0)
        cursor.execute(f"analyze {', '.join(TABLES)}; discard plans")
        for _ in range(TURNS):
            by_statements(cast)
        counts = []
        for turn in range(1, TURNS):
            whole_runs(cast, worker, turn)
            cursor.execute(COUNTS, [list(TABLES)])
            counts.append(dict(cursor.fetchall()))
    read = {name: counts[-1][name] - counts[-2][name] for name in counts[-1]}
    assert read == dict.fromkeys(read, 0)
    assert len(read) == len(TABLES)


@pytest.mark.parametrize("old_workers", [0, 1])
def test_a_start_reads_as_little_behind_many_that_wait_as_behind_few(
    cast: Cast, old_workers: int
) -> None:
    """Also while a worker of the previous release is there, and where most of the table is dead."""
    begun = transaction.savepoint()
    for number in range(DEAD):
        at_once(cast, request(f"{number}"))
    transaction.savepoint_rollback(begun)
    TeamLimits.objects.create(team=cast.team, concurrent_runs=2, queued_runs=0, runs_per_minute=0)
    with connection.cursor() as cursor:
        for _ in range(old_workers):
            cursor.execute("insert into procrastinate_workers default values")
        at_once(cast, request("first"))
        cursor.execute(f"analyze {', '.join(TABLES)}; discard plans")
        totals = []
        for number in range(MANY):
            assert at_once(cast, request(f"{number}"))
            cursor.execute(READ)
            totals.extend(cursor.fetchone())
    behind_few, behind_many = (totals[at] - totals[at - 1] for at in (TURNS, MANY - 1))
    assert behind_many <= behind_few
    assert behind_few < MANY / 2
