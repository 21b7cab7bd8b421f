"""1,000 runs of a remote agent on one worker process, all alive at once, an event a second each.

The worker's resident memory while all of them are alive, less what it held before, is at most
200 KB for each; none is lost, and each says at least one event in every second of its life.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from agui_host.embedded import paths
from benchmarks.report import keep
from tests.acceptance.host import ROOT, Host, cpu_and_memory, free_port, wait_for
from tests.conftest import own_data_dir

ALIVE_SECONDS = 10
LIMIT_KB = 200
STATE = """
select count(*) filter (where run.status = 'running' and journal.head > 3),
       count(*) filter (where run.status = 'succeeded'),
       count(*) filter (where run.status = 'failed')
from runs_run run
join runs_thread thread on thread.id = run.thread_id
join events_journal journal on journal.id = run.journal_id
where thread.thread_id like %s || '%%'
"""
LIVES = """
from runs.models import Run
rows = Run.objects.unscoped("a measurement").filter(agent__slug="far")
rows = rows.filter(thread__thread_id__startswith={prefix!r})
ends = list(rows.values_list("started_at", "ended_at", "journal__head"))
print((min(e for _, e, _ in ends) - max(s for s, _, _ in ends)).total_seconds(),
      min(h for _, _, h in ends))
"""


@dataclass(frozen=True)
class Figures:
    """What came of it; seconds and kilobytes."""

    runs: int
    succeeded: int
    together: float
    fewest_events: int
    kb_each: float
    seconds: int


@contextmanager
def peer() -> Iterator[int]:
    """The remote agent, in a process of its own; its port."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.remote_peer", str(port)], cwd=ROOT
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(10)


def add_agent(host: Host, port: int) -> None:
    with host.client() as client:
        body = {"slug": "far", "url": f"http://127.0.0.1:{port}/"}
        assert client.post("/api/v1/agents", json=body).status_code == 201


def play(host: Host, runs: int, seconds: int, prefix: str) -> Figures:
    """Start that many, wait until all are alive and until all have ended."""
    assert host.worker.process
    pid = host.worker.process.pid
    before = cpu_and_memory(pid)[1]

    def begin(number: int) -> None:
        props = {"seconds": seconds}
        host.begin("far", threadId=f"{prefix}{number}", forwardedProps=props)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(begin, range(runs)))
    wait_for(lambda: state(host, prefix)[0] == runs, "all runs to be alive", 120)
    time.sleep(ALIVE_SECONDS / 2)
    during = cpu_and_memory(pid)[1]
    wait_for(lambda: sum(state(host, prefix)[1:]) == runs, "all runs to end", seconds + 120)
    _, succeeded, _ = state(host, prefix)
    together, fewest = host.python(LIVES.format(prefix=prefix)).split()
    kb_each = (during - before) / runs / 1000
    return Figures(runs, succeeded, float(together), int(fewest), kb_each, seconds)


def state(host: Host, prefix: str) -> tuple[int, int, int]:
    """How many are alive, succeeded and failed; asked often, and so without a process."""
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres") as connection:
        row: tuple[int, int, int] | None = connection.execute(STATE, [prefix]).fetchone()
    assert row
    return row


def check(figures: Figures, limit_kb: float = LIMIT_KB) -> None:
    """The promise; 3 events of each run are RUN_STARTED and the like."""
    assert figures.succeeded == figures.runs
    assert figures.together >= ALIVE_SECONDS
    assert figures.fewest_events >= figures.seconds + 3
    assert figures.kb_each <= limit_kb


def measured(runs: int, seconds: int) -> Figures:
    """On a host of its own, behind a few runs that load what a worker loads once."""
    with own_data_dir() as data, peer() as port:
        host = Host(
            data,
            AGUI_OUTBOUND_ALLOW="127.0.0.1",
            AGUI_WORKER_CONCURRENCY=str(runs + 10),
            AGUI_LIMIT_CONCURRENT_RUNS=str(runs + 10),
        )
        try:
            host.start()
            add_agent(host, port)
            play(host, 20, 15, "warm-")
            return play(host, runs, seconds, "run-")
        finally:
            host.stop()


def main() -> None:
    figures = measured(1000, 90)
    keep(
        "remote-runs",
        [
            f"runs of one worker process     {figures.runs}, succeeded {figures.succeeded}",
            f"all alive at once for          {figures.together:.1f} s, an event a second each",
            f"resident memory of the worker  {figures.kb_each:.0f} KB for each run (<= {LIMIT_KB})",
        ],
    )
    check(figures)


if __name__ == "__main__":
    main()
