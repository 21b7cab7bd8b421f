"""An upgrade from an earlier commit and the way back, under load: each run begins once and ends.

``SOAK_FROM`` names the commit; without it, the newest one whose runs were jobs of Procrastinate.
"""

import difflib
import json
import os
import subprocess
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_host.embedded import embedded, paths, supervisor
from agui_host.teams.management import recorded
from benchmarks.against import checked_out
from benchmarks.report import keep
from tests.acceptance.host import ROOT, SEED, Host, free_port, wait_for
from tests.conftest import own_data_dir

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
FROM = os.environ.get("SOAK_FROM", "c04d7e69")
STARTERS, PAUSE, EACH = 3, 0.15, 60
"""Threads that start runs, their seconds between two starts, and starts after each step."""
PATIENCE, GRACE = 180.0, 20.0
SHORT, LONG = {"text": "a ", "n": 3}, {"text": "a ", "n": 40, "rate": 20}
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
WAITING = """
from runs.models import Run
print(Run.objects.of_any_team().filter(pk__in={!r}, ended_at=None).count())
"""


class Load:
    """Clients that start short and long runs, some of them in shared threads."""

    def __init__(self, host: Host, ports: list[int]) -> None:
        self.host, self.ports = host, ports
        self.runs: list[str] = []
        self.refused: Counter[str] = Counter()
        self.over = threading.Event()
        self.threads = [
            threading.Thread(target=self.start_runs, args=(n,)) for n in range(STARTERS)
        ]

    def start_runs(self, number: int) -> None:
        turn = 0
        with self.host.client() as client:
            while not self.over.wait(PAUSE):
                turn += 1
                script = [SHORT if turn % 3 else LONG]
                content: dict[str, Any] = {"forwardedProps": {"script": script}}
                body: dict[str, Any] = {"agent": "scripted", "input": content}
                if turn % 4 == 0:
                    content["threadId"] = f"{number}-{turn // 40}"
                    body["onBusy"] = "enqueue"
                port = self.ports[turn % len(self.ports)]
                try:
                    answer = client.post(f"http://127.0.0.1:{port}/api/v1/runs", json=body)
                except httpx.HTTPError:
                    continue  # a web process ends; its clients come back
                if answer.status_code == 202:
                    self.runs.append(answer.json()["id"])
                else:
                    self.refused[f"{answer.status_code} {answer.text}"] += 1

    def more(self) -> None:
        """Until so many further runs were started."""
        aim = len(self.runs) + EACH
        wait_for(lambda: len(self.runs) >= aim, f"{EACH} further starts", PATIENCE)


class Fleet:
    """Web processes and workers of both commits on one database."""

    def __init__(self, host: Host, old: Path) -> None:
        self.host = host
        self.roots = {"old": old, "new": ROOT}
        self.ports = {"old": host.port, "new": free_port()}
        self.serving: list[int] = []
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
            self.serving.append(port)

    def answers(self, port: int) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/ready", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self, release: str, kind: str) -> None:
        if kind == "web":
            self.serving.remove(self.ports[release])
        self.jobs.pop((release, kind)).stop()

    def stop_all(self) -> None:
        for job in self.jobs.values():
            job.stop()

    def settle(self, runs: list[str]) -> None:
        """Until these runs have ended."""
        self.host.root = ROOT
        code = WAITING.format(runs)
        wait_for(lambda: self.host.python(code).strip() == "0", "the runs to end", PATIENCE)


def carry_over(host: Host, folder: Path) -> None:
    """Migrate the database of an earlier commit as the refusal of ``migrate`` says."""
    host.root = checked_out(recorded.STEP, folder / "step")
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


def test_no_run_is_lost_or_begun_twice(tmp_path: Path) -> None:
    with ExitStack() as stack:
        old = checked_out(FROM, tmp_path / "old")
        data = stack.enter_context(own_data_dir())
        engines = embedded.start(data, postgres_options=["fsync=off"])
        stack.callback(engines.stop)
        host = Host(data, AGUI_WORKER_GRACE=f"{GRACE}")
        host.root = old
        host.manage("migrate", "-v0")
        host.python(SEED)
        fleet = Fleet(host, old)
        stack.callback(fleet.stop_all)
        fleet.start("old", "web")
        fleet.start("old", "worker")
        load = Load(host, fleet.serving)
        stack.callback(load.over.set)
        for thread in load.threads:
            thread.start()
        load.more()
        carry_over(host, tmp_path)
        for step in STEPS.replace("\n", " ").split(","):
            what, release, kind = step.split()
            getattr(fleet, what)(release, kind)
            load.more()
            if step.strip() == "stop new web":
                fleet.settle(load.runs[:])  # by workers that see no run that is due
        load.over.set()
        for thread in load.threads:
            thread.join()
        fleet.settle(load.runs)
        outcomes = json.loads(host.python(OUTCOMES))
    lines = [f"{number} runs: {status}, RUN_STARTED {started} times, an end {ends} times,"
             f" {workers} of them by workers of this commit"
             for status, started, ends, number, workers in outcomes]  # fmt: skip
    keep("upgrade", [f"from {FROM}, back, and again; refused: {dict(load.refused)}", *lines])
    assert [outcome[:3] for outcome in outcomes] == [["succeeded", 1, 1]]
    ((*_, number, by_new),) = outcomes
    assert number >= len(load.runs)
    assert 0 < by_new < number
    assert not load.refused
