"""Each index of the table of runs, the query that needs it, and what an ordinary run has in it.

An entry in an index is written with each version of a row, so an index costs each run, unless its
condition is false for ordinary runs.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from agui_host.backends.postgres.bridge import db
from runs.models import Run
from tests.cast import Cast
from tests.runs.playing import Play

pytestmark = pytest.mark.django_db

EACH = {
    # Each run has an entry from its start on.
    "runs_run_pkey": "select from runs_run where journal_id = %(id)s",
    # runs/api/filters.py: a client's name of a run; and no name twice in a thread
    "run_once_per_thread": "select from runs_run where run_id = 'r' and thread_id = %(id)s",
    # runs/api/runs.py, the dashboard's list; agui_check counts a minute's starts by it
    "run_team_newest": "select from runs_run where team_id = %(id)s order by journal_id desc",
    # the list between two times; an imported run is older than its id
    "run_team_by_time": """select from runs_run where team_id = %(id)s and created_at >= now()
        order by created_at desc, journal_id desc""",
    "run_agent_newest": "select from runs_run where agent_id = %(id)s order by journal_id desc",
    "run_team_by_starter": """select from runs_run where team_id = %(id)s and started_by = 'a'
        order by journal_id desc""",
    # a thread's history, its newest run
    "run_thread_newest": "select from runs_run where thread_id = %(id)s order by journal_id desc",
    # runs/lifecycle/deletion/retention.py, without the rows of runs purged long ago
    "run_not_purged": """select from runs_run where team_id = %(id)s and purged_at is null
        order by journal_id""",
}
BEGUN = {
    # From the claim on. runs/access/agents/versions.py: a version's runs, and when it last ran
    "run_agent_by_version": """select from runs_run where agent_id = %(id)s
        and agent_version = 'v' order by journal_id desc""",
}
OVER = {
    # Once it has ended: the list of one status.
    "run_team_ended_newest": """select from runs_run where team_id = %(id)s and status = 'failed'
        order by journal_id desc""",
}
ACTIVE = {
    # As long as a run has not ended; so these stay small.
    # runs/sql/admission.sql: how many are going, and who is next
    "run_in_line": """select from runs_run where team_id = %(id)s and status = 'queued'
        and stamp is null order by stamp, created_at, journal_id""",
    # "is this thread busy?", of each start in a thread that exists
    "run_active": """select from runs_run where thread_id = %(id)s
        and status in ('queued', 'running')""",
    # one runs at a time in a thread: a rule, and the queries for the running one
    "run_one_running_per_thread": """select from runs_run where thread_id = %(id)s
        and status = 'running'""",
    # runs/sql/taking.sql: agui_take_due_runs
    "run_due": """select from runs_run where due_at is not null and due_at <= now()
        order by stamp, journal_id""",
    # runs/worker/taking/take.py, with each beat of a worker
    "run_of_worker": """select from runs_run where worker = 1
        and status in ('queued', 'running')""",
}
SELDOM = {
    # No ordinary run has an entry.
    # a start with an Idempotency-Key
    "run_once_per_key": "select from runs_run where team_id = %(id)s and idempotency_key = 'k'",
    # the children of a run, also as it is erased
    "run_of_parent": "select from runs_run where parent_id = %(id)s",
    # the attempt that repeats a lost run (runs/lifecycle/repetition.py)
    "run_repeated_once": "select from runs_run where repeats_id = %(id)s",
    # the sweep for runs to repeat
    "run_worker_gone": """select from runs_run where status = 'failed'
        and error_code in ('worker_lost', 'shutdown') and ended_at > now() - interval '1 hour'""",
    # the list of one failure
    "run_team_failed_by_code": """select from runs_run where team_id = %(id)s
        and error_code = 'timeout' order by journal_id desc""",
    # the list of one person for whom a key started runs
    "run_team_by_end_user": """select from runs_run where team_id = %(id)s and end_user = 'e'
        order by journal_id desc""",
    # runs/lifecycle/words/faces.py: runs whose end wrote no answer
    "run_faceless": """select from runs_run where (asked is null or (answered is null
        and status in ('succeeded', 'interrupted', 'cancelled', 'failed')))
        and purged_at is null order by journal_id desc""",
}
QUERIES = EACH | BEGUN | OVER | ACTIVE | SELDOM

INDEXES = """
select relname, coalesce(pg_get_expr(indpred, indrelid), 'true')
  from pg_index join pg_class on pg_class.oid = indexrelid where indrelid = 'runs_run'::regclass
"""


def indexes() -> dict[str, str]:
    """The condition of each index of the table."""
    with connection.cursor() as cursor:
        cursor.execute(INDEXES)
        return dict(cursor.fetchall())


def entries(run: Run) -> set[str]:
    """The indexes that have an entry of this run as it is now."""
    columns = ", ".join(f"({condition})" for condition in indexes().values())
    with connection.cursor() as cursor:
        cursor.execute(f"select {columns} from runs_run where journal_id = %s", [run.pk])  # noqa: S608
        row: tuple[Any, ...] = cursor.fetchone()
    return {name for name, holds in zip(indexes(), row, strict=True) if holds}


@contextmanager
def only(name: str) -> Iterator[None]:
    """No other index than this one until the end of the block.

    Also no primary key: in a table of few rows the planner takes it for "the newest of all".
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select conname from pg_constraint where conrelid = 'runs_run'::regclass")
        constraints = {row[0] for row in cursor.fetchall()}
        for other in set(indexes()) - {name}:
            drop = "alter table runs_run drop constraint" if other in constraints else "drop index"
            cursor.execute(f"{drop} {other} cascade")
        cursor.execute("set local enable_seqscan = off; set local enable_sort = off")
        yield
        transaction.set_rollback(True)


def test_each_index_has_a_query_here() -> None:
    assert set(indexes()) == set(QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_its_query_is_answered_by_it_alone(cast: Cast, name: str) -> None:
    """In its order, without another step."""
    with only(name), connection.cursor() as cursor:
        cursor.execute(f"explain {QUERIES[name]}", {"id": cast.alice.team.pk})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert name in plan
    assert "Sort" not in plan


@pytest.mark.django_db(transaction=True)
async def test_an_ordinary_run_has_few_entries(play: Play) -> None:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "done"}
        yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}

    run, _ = await play(agent)
    assert await db(entries, run) == {*EACH, *BEGUN, *OVER}
