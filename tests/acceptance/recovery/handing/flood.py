"""A flood of starts in which a process is hurt, and the promises that hold for each run."""

import os
import random
import re
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

import httpx
import psycopg

from agui_host.embedded import paths
from tests.acceptance.host import Host, child_pids, wait_for
from tests.acceptance.recovery.rounds import Pair
from tests.acceptance.recovery.twenty_effects import lines
from tests.conftest import own_data_dir

SETTINGS = {
    "AGUI_AGENT_MODULES": "tests.acceptance.recovery.handing.counted",
    "AGUI_HEARTBEAT": "0.5",
    "AGUI_WORKER_LOST_AFTER": "3",
    "AGUI_REAP_EVERY": "0.5",
    "AGUI_DATABASE_DEADLINE": "1",
    "AGUI_START_REST": "0",
}
CALLERS = 4
LEAST_HANDED = 5
FAULTS = ("web killed", "web frozen", "worker killed", "worker frozen", "sql killed", "sql frozen")
# A run that is claimed for a worker with its start begins at the moment at which it was made. One
# that waits has not begun.
RUNS = """
select r.run_id, r.status, r.error_code, r.error_message,
       r.started_at is not distinct from r.created_at,
       array(select earlier.run_id::text from runs_run earlier
              where earlier.thread_id = r.thread_id and earlier.journal_id < r.journal_id)
  from runs_run r where starts_with(r.run_id, %s)
"""
BEHIND = 5
"""Every second start of a caller is the next turn of a thread that it began so many starts ago."""


COMPLAINT = re.compile(r"\b(writer\.refused|run\.failed|run\.agent_raised|worker\.run_failed)")


class Row(NamedTuple):
    """A run of a flood; ``before`` are the names of the runs of its thread that are older."""

    run: str
    status: str
    error: str
    message: str
    is_handed: bool
    before: list[str]


class Flood:
    """Callers that start runs in fresh threads and next turns in turns, until the block ends.

    ``accepted`` are the runs whose starts were answered; others can have been started as well.
    """

    def __init__(self, host: Host, name: str, file: Path) -> None:
        self.host, self.name, self.file = host, name, file
        self.accepted: list[str] = []
        self._over = threading.Event()
        self._callers = [
            threading.Thread(target=self._call, args=(n,), daemon=True) for n in range(CALLERS)
        ]

    def __enter__(self) -> "Flood":
        for caller in self._callers:
            caller.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for caller in self._callers:
            caller.join(60)

    def _call(self, caller: int) -> None:
        for number in range(1_000_000):
            if self._over.is_set():
                return
            run = f"{self.name}-{caller}-{number}"
            began = number - BEHIND if number % 2 and number >= BEHIND else number
            body = {
                "threadId": f"{self.name}-{caller}-{began}", "runId": run,
                "messages": [{"id": run, "role": "user", "content": "?"}],
                "forwardedProps": {"file": str(self.file)},
            }  # fmt: skip
            with suppress(httpx.HTTPError):
                answer = httpx.post(
                    f"{self.host.url}/api/v1/runs",
                    json={"agent": "counted", "input": body, "on_busy": "enqueue"},
                    headers=self.host.headers,
                    timeout=5,
                )
                if answer.status_code == 202:
                    self.accepted.append(run)

    def go_on(self, more: int) -> None:
        """Wait until so many further starts were accepted."""
        least = len(self.accepted) + more
        wait_for(lambda: len(self.accepted) >= least, f"{more} more starts")


class Handing:
    """A host with two workers, which is whole again after each round."""

    def __init__(self, workers: Pair) -> None:
        self.workers, self.host = workers, workers.host

    def play(self, folder: Path, seed: int, fault: str) -> Counter[str]:
        """Hurt a process in a flood, and check each run; how many there were of each outcome."""
        chance = random.Random(f"{seed} {fault}")
        self._revive()
        # A name of its own, since rounds of one host can have the same seed.
        flood = Flood(self.host, f"{seed}-{uuid.uuid4().hex}", folder / "begun")
        with flood:
            flood.go_on(chance.randrange(20, 40))
            self._wait_for_handed(flood)
            time.sleep(chance.uniform(0, 0.05))
            before = len(flood.accepted)
            self._hurt(fault, chance)
            self._revive()
            flood.go_on(20)
        assert before >= 20, "the fault came in the middle of the flood"
        return self._check(flood, fault)

    def _wait_for_handed(self, flood: Flood) -> None:
        def handed() -> bool:
            return sum(is_handed for *_, is_handed, _ in self.runs(flood)) >= LEAST_HANDED

        wait_for(handed, "starts that were handed over")

    def runs(self, flood: Flood) -> list[Row]:
        """The runs of a flood."""
        return [Row(*row) for row in self._rows(RUNS, f"{flood.name}-")]

    def _revive(self) -> None:
        """Return once exactly two workers are registered, both of which have a new heartbeat.

        The row of a worker that was killed counts as one that is there for some seconds.
        """
        [(moment,)] = self._rows("select now()::text")
        self.workers.revive()
        wait_for(lambda: self._registered(since=moment) == self._registered() == 2, "two workers")

    def _registered(self, since: str = "-infinity") -> int:
        """How many workers are registered that have had a heartbeat since then."""
        counting: LiteralString = "select count(*) from runs_worker where heartbeat > %s"
        [(workers,)] = self._rows(counting, since)
        return int(workers)

    def _rows(self, statement: LiteralString, *values: str) -> list[tuple[Any, ...]]:
        sockets = str(paths.socket_dir(self.host.data))
        with psycopg.connect(host=sockets, user="postgres", autocommit=True) as operator:
            return operator.execute(statement, values).fetchall()

    def _complaints(self) -> list[str]:
        """The lines of the logs about refused events and failed agents."""
        logs = [self.host.log_of(job) for job in (self.host.web, *self.workers.jobs)]
        return [line for log in logs for line in log.splitlines() if COMPLAINT.search(line)]

    def _hurt(self, fault: str, chance: random.Random) -> None:
        place, how = fault.split()
        job = self.host.web if place == "web" else chance.choice(self.workers.jobs)
        if place == "sql":
            assert self.host.engines is not None
            assert self.host.engines.postgres is not None
            pid = self.host.engines.postgres.pid
        else:
            assert job.process is not None
            pid = job.process.pid
        if how == "frozen":
            with _frozen(pid):
                if place == "worker":
                    wait_for(lambda: self._registered() < 2, "the worker to be given up")
                else:  # the database longer than a statement waits
                    time.sleep(2.5 if place == "sql" else chance.uniform(0.1, 2))
            if place == "worker":
                process = job.process
                assert process is not None
                wait_for(lambda: process.poll() is not None, "the worker given up to leave")
        elif place == "sql":
            self._kill_sql()
        else:
            assert job.process is not None
            job.process.kill()
            job.process.wait(20)
            job.stop()
            self.host.spawn(job)
            self.host.wait_ready()

    def _kill_sql(self) -> None:
        engines = self.host.engines
        assert engines is not None
        process = engines.postgres
        assert process is not None
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        engines.stop_postgres()
        engines.start_postgres()
        self.host.wait_ready()

    def _check(self, flood: Flood, fault: str) -> Counter[str]:
        rows: list[Row] = []

        def all_ended() -> bool:
            rows[:] = self.runs(flood)
            return all(status not in ("queued", "running") for _, status, *_ in rows)

        try:
            wait_for(all_ended, "each run to end")
        except AssertionError:
            print([row for row in rows if row[1] in ("queued", "running")])
            raise
        begun = Counter(run for run, _ in lines(flood.file))
        asked = {run: names.split(",") for run, names in lines(flood.file)}
        assert set(flood.accepted) <= {run for run, *_ in rows}, "no start is lost"
        assert len(rows) == len({run for run, *_ in rows})
        outcomes: Counter[str] = Counter()
        for run, status, error, message, is_handed, before in rows:
            outcomes.update([error or status] + ["handed turn" if before else "handed"] * is_handed)
            if run in begun:
                assert asked[run] == [*before, run], "its agent has the history of its thread"
            if status == "succeeded":
                assert begun[run] == 1, (run, begun[run])
            else:
                is_lost = (status, error) == ("failed", "worker_lost")
                assert is_lost, (run, status, error, message, self._complaints())
                assert begun[run] <= 1, (run, begun[run])
        if not fault.startswith("worker"):
            assert outcomes["worker_lost"] == 0, outcomes
        return outcomes


@contextmanager
def _frozen(pid: int) -> Iterator[None]:
    """The process and its children stand still."""
    stopped: list[int] = []
    _signal(pid, signal.SIGSTOP, stopped.append)  # first: it makes no further children
    for child in child_pids(pid):
        _signal(int(child), signal.SIGSTOP, stopped.append)
    try:
        yield
    finally:
        for each in stopped:
            _signal(each, signal.SIGCONT)


def _signal(pid: int, number: signal.Signals, done: Callable[[int], object] = id) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        done(pid)


@contextmanager
def handing() -> Iterator[Handing]:
    """A host with two workers on a new data directory."""
    with own_data_dir() as data:
        host = Host(data, **SETTINGS)
        try:
            workers = Pair(host.start())
            yield Handing(workers)
        finally:
            if "workers" in locals():
                workers.second.kill()
                workers.second.stop()
            host.worker.kill()
            host.stop()
