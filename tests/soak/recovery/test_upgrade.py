"""An upgrade from an earlier commit and the way back, under load: the histories' checker judges.

``SOAK_FROM`` names the commit; without it, the newest one whose runs were jobs of Procrastinate,
from which nine indexes of runs are built. ``RUNS`` is how many runs are there before.
"""

import difflib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest

from agui_host.embedded import embedded, paths, supervisor
from agui_host.teams.management import recorded
from benchmarks.against import checked_out
from benchmarks.report import keep
from tests.acceptance.host import ROOT, SEED, Host, free_port, wait_for
from tests.conftest import own_data_dir
from tests.histories.checker import check, read
from tests.histories.load import resting
from tests.soak.recovery import many_runs
from tests.soak.recovery.load import Load, Timed

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
FIRST = "c04d7e69"
FROM = os.environ.get("SOAK_FROM", FIRST)
RUNS = int(os.environ.get("RUNS", "200_000"))
EACH = 30
"""Starts after each step."""
LATEST = 2.0
"""Seconds for which a start waits for its answer, or an event for its reader."""
PATIENCE, GRACE = 180.0, 20.0
WORKERS = "workers of this commit" if FROM == FIRST else "workers that run rows name"
"""Workers that a run's row names: in the first commit it named none."""
STEPS = """
start new web, start new worker, stop old worker, stop old web,
start old web, stop new worker, start old worker, stop new web,
stop old worker, start new worker, start new web
"""
"""There, back, and there again; twice no worker is there for a while."""
OUTCOMES = """
import json
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute('''
        select status, started, ends, count(*), count(worker) from (
            select run.status, run.worker,
                   count(*) filter (where event.payload like '%"RUN_STARTED"%') as started,
                   count(*) filter (where event.payload like '%"RUN_FINISHED"%'
                                          or event.payload like '%"RUN_ERROR"%') as ends
              from runs_run run left join events_event event on event.journal_id = run.journal_id
             where run.team_id = (select id from teams_team where slug = 'demo')
             group by run.journal_id) run
         group by 1, 2, 3''')
    print(json.dumps(cursor.fetchall()))
"""
RECORDED = """
import json
from django.db.migrations.recorder import MigrationRecorder
names = MigrationRecorder.Migration.objects.values_list("app", "name")
print(json.dumps([" ".join(each) for each in names]))
"""
FORGET_FORMER = """
from django.db import connection
from agui_host.backends.postgres.functions import sql_files
with connection.cursor() as cursor:
    cursor.execute(
        "select oid::regprocedure from pg_proc where proname = any (%s)",
        [list(sql_files.read().former)],
    )
    for (function,) in cursor.fetchall():
        cursor.execute(f"drop function {function}")
"""
"""Functions that only processes of the previous release call, which a new database has not."""
PAST = """
from agui_host.runtimes.create_team import create_team
print(create_team("past", "Past").pk)
"""
BUILDS = "select command, index_relid from pg_stat_progress_create_index"
ACTIVE = "select count(*) from runs_run where ended_at is null and journal_id = any(%s::uuid[])"


class Fleet:
    """Web processes and workers of both commits on one database."""

    def __init__(self, host: Host, old: Path) -> None:
        self.host = host
        self.roots = {"old": old, "new": ROOT}
        self.ports = {"old": host.port, "new": free_port()}
        self.serving: list[str] = []
        self.where = f"host={paths.socket_dir(host.data)} user=postgres dbname=postgres"
        self.jobs: dict[tuple[str, str], supervisor.Job] = {}

    def start(self, release: str, kind: str) -> None:
        port = self.ports[release]
        job = supervisor.web(port) if kind == "web" else supervisor.worker(GRACE)
        job.name = f"{kind} of the {release} commit"
        self.host.root = self.roots[release]
        self.host.spawn(job, PORT=str(port))
        self.jobs[release, kind] = job
        if kind == "web":
            wait_for(lambda: self.answers(port), f"{job.name} to answer", PATIENCE)
            self.serving.append(f"http://127.0.0.1:{port}")

    def answers(self, port: int) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/ready", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self, release: str, kind: str) -> None:
        if kind == "web":
            self.serving.remove(f"http://127.0.0.1:{self.ports[release]}")
        self.jobs.pop((release, kind)).stop()

    def stop_all(self) -> None:
        for job in self.jobs.values():
            job.stop()

    def settle(self, runs: list[str]) -> None:
        """Until these runs have ended."""
        with psycopg.connect(self.where, autocommit=True) as link:

            def are_active() -> bool:
                return link.execute(ACTIVE, [runs]).fetchone() != (0,)

            wait_for(lambda: not are_active(), "the runs to end", PATIENCE)

    @contextmanager
    def watching_indexes(self) -> Iterator[set[int]]:
        """The indexes that are built meanwhile without blocking writers."""
        built: set[int] = set()
        over = threading.Event()

        def watch() -> None:
            with psycopg.connect(self.where, autocommit=True) as link:
                while not over.wait(0.01):
                    for command, index in link.execute(BUILDS).fetchall():
                        built.update({index} if command.endswith("CONCURRENTLY") else ())

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            yield built
        finally:
            over.set()
            watching.join()


def carry_over(host: Host, folder: Path) -> None:
    """Migrate the database of an earlier commit as the refusal of ``migrate`` says."""
    host.root = checked_out(recorded.STEP, folder / "step")
    try:
        host.manage("migrate", "-v0")
    except subprocess.CalledProcessError:  # that commit gives up at a deadlock
        host.manage("migrate", "-v0")
    host.root = ROOT
    host.manage("migrate", "-v0")


def schema(host: Host, data: Path) -> list[str]:
    """The statements that make the database, without its name, and the recorded migrations."""
    command = [f"{paths.postgres_binaries(None)}/pg_dump", "-h", f"{paths.socket_dir(data)}",
               "-U", "postgres", "--schema-only", "--restrict-key=none", "postgres"]  # fmt: skip
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [*dump.splitlines(), *sorted(json.loads(host.python(RECORDED)))]


def test_a_database_of_an_earlier_commit_becomes_what_a_new_one_is(tmp_path: Path) -> None:
    """Tables with their columns in order, defaults, constraints, indexes, functions, rights."""
    schemas: list[list[str]] = []
    for is_new in (False, True):
        with ExitStack() as stack:
            data = stack.enter_context(own_data_dir())
            server = embedded.start(data, valkey=False, postgres_options=["fsync=off"])
            stack.callback(server.stop)
            host = Host(data)
            if is_new:
                host.manage("migrate", "-v0")
            else:
                host.root = checked_out(FROM, tmp_path / "old")
                host.manage("migrate", "-v0")
                carry_over(host, tmp_path)
                host.python(FORGET_FORMER)
            schemas.append(schema(host, data))
    carried, new = schemas
    assert list(difflib.unified_diff(carried, new, n=0)) == []


def begin_old(host: Host, old: Path, stack: ExitStack) -> tuple[Fleet, int]:
    """The old commit at work with many runs; how many rows these are."""
    host.root = old
    host.manage("migrate", "-v0")
    host.python(SEED)
    fleet = Fleet(host, old)
    stack.callback(fleet.stop_all)
    fleet.start("old", "web")
    fleet.start("old", "worker")
    run = host.begin(script=[{"text": "a ", "n": 3}])["id"]
    host.wait_status(run, "succeeded")
    team = host.python(PAST).split()[-1]
    return fleet, many_runs.multiply(fleet.where, run, team, RUNS)


def play(fleet: Fleet, load: Load, folder: Path) -> list[str]:
    """All steps; a line about the migration."""

    def more() -> None:
        aim = len(load.runs) + EACH
        wait_for(lambda: len(load.runs) >= aim, f"{EACH} further starts", PATIENCE)

    more()
    load.begin("it is migrated")
    began, starts = time.monotonic(), len(load.runs)
    with fleet.watching_indexes() as built:
        carry_over(fleet.host, folder)
    seconds, starts = time.monotonic() - began, len(load.runs) - starts
    assert built or FROM != FIRST, "no index was built"
    for step in STEPS.replace("\n", " ").split(","):
        what, release, kind = step.split()
        load.begin(step.strip())
        getattr(fleet, what)(release, kind)
        more()
        if step.strip() == "stop new web":
            fleet.settle(load.runs[:])  # by workers that see no run that is due
    line = f"migrated in {seconds:.0f} s beside {starts} starts, {len(built)} indexes concurrently"
    return [line]


def test_no_event_is_lost_and_no_run_begun_twice(tmp_path: Path) -> None:
    with ExitStack() as stack:
        old = checked_out(FROM, tmp_path / "old")
        data = stack.enter_context(own_data_dir())
        engines = embedded.start(data, postgres_options=["fsync=off"])
        stack.callback(engines.stop)
        host = Host(data, AGUI_WORKER_GRACE=f"{GRACE}")
        fleet, rows = begin_old(host, old, stack)
        lines = [f"from {FROM}, back, and again, with {RUNS:,} runs, {rows:,} rows"]
        recording = stack.enter_context(Timed(tmp_path / "history.jsonl"))
        recording.write("history", version=1)
        load = Load(fleet.serving, host.key, recording)
        stack.callback(load.over.set)
        load.start()
        lines += play(fleet, load, tmp_path)
        load.over.set()
        load.join(PATIENCE)
        assert not load.is_alive(), "readers wait"
        fleet.settle(load.runs)
        host.url = fleet.serving[0]
        resting.rest(host, recording)
        outcomes = json.loads(host.python(OUTCOMES))
        lateness = load.lateness(fleet.where)
    violations, counts = check(partial(read, recording.path))
    lines += [
        f"{number} runs: {status}, RUN_STARTED {started} times, an end {ends} times,"
        f" {workers} of them by {WORKERS}"
        for status, started, ends, number, workers in outcomes
    ]
    lines += [f"history: {dict(counts)}", f"wrong: {len(violations)}", *map(str, violations)]
    keep(
        "upgrade" if FROM == FIRST else f"upgrade-from-{FROM}",
        [*lines, *lateness.lines(), *load.wrong],
    )
    assert [outcome[:3] for outcome in outcomes] == [["succeeded", 1, 1]]
    ((*_, number, by_new),) = outcomes
    assert number >= len(load.runs)
    assert by_new > 0
    assert by_new < number or FROM != FIRST
    assert (violations, load.wrong) == ([], [])
    assert lateness.too_late(LATEST) == []
