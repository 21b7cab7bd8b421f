"""The messages of a run read no table as a whole, though their plans are made while it is small."""

from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from events.journal import Batch
from events.writer.commits import store_in_one_message
from runs.lifecycle import admission, jobs
from runs.lifecycle.statements import ends
from runs.models import Status
from runs.worker import taking
from tests.cast import Cast
from tests.events.records import whole_log
from tests.runs.lifecycle.statements.test_at_once import at_once, request

pytestmark = pytest.mark.django_db

TURNS = 12
"""More than a connection takes to settle on a plan, which it keeps from then on."""
AT_ONCE = 3
COUNTS = """
select relname, seq_tup_read from pg_stat_xact_user_tables
 where relname in ('runs_run', 'runs_thread', 'runs_endedrun', 'runs_teamusage', 'runs_webhook',
                   'events_journal', 'procrastinate_jobs')
"""
WORKER = "insert into procrastinate_workers default values returning id"


def fetched(worker: int, ended: list[int]) -> list[tuple[int, UUID]]:
    """End these jobs; the job and the run of each that was taken and claimed."""
    call = taking.Fetch(ended, [jobs.QUEUE], worker, AT_ONCE)
    with connection.cursor() as cursor:
        values = {**call._asdict(), "task": jobs.TASK, "at": timezone.now()}
        cursor.execute(taking.FETCH, values)
        names = [column.name for column in cursor.description]
        id_at, run_at = names.index("id"), names.index("run")
        return [(row[id_at], row[run_at]) for row in cursor.fetchall()]


def whole_runs(cast: Cast, worker: int, turn: int) -> None:
    """Some runs, from start to end, as web process, worker and writer ask for them."""
    started = [at_once(cast, request(f"{turn}-{number}")) for number in range(AT_ONCE)]
    taken = fetched(worker, [])
    runs = [run_id for _, run_id in taken]
    assert runs == [run.pk for run in started if run]
    store_in_one_message(
        [
            (Batch(run_id, 1, 1, whole_log(4)), [ends.statement(run_id, Status.SUCCEEDED)])
            for run_id in runs
        ]
    )
    assert admission.teams_with_next(runs)() == []
    assert fetched(worker, [job_id for job_id, _ in taken]) == []


def test_no_message_of_a_run_reads_a_whole_table(cast: Cast) -> None:
    """A plan that does would slow each run by all the runs there were, until the next ANALYZE."""
    with connection.cursor() as cursor:
        cursor.execute("delete from procrastinate_jobs")  # of earlier tests
        cursor.execute(WORKER)
        (worker,) = cursor.fetchone()
        counts = []
        for turn in range(TURNS):
            whole_runs(cast, worker, turn)
            cursor.execute(COUNTS)
            counts.append(dict(cursor.fetchall()))
    read = {name: counts[-1][name] - counts[-2][name] for name in counts[-1]}
    assert read == dict.fromkeys(read, 0)
    assert len(read) == 7
