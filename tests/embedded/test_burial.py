"""The program that ends a dead worker's registration, and the processes that miss it then."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from agui_host.backends.postgres.base import apart, session_parameters
from agui_host.backends.postgres.bridge import db
from agui_host.embedded import burial, deployed
from runs.models import Worker
from runs.worker import reaper
from tests.acceptance.host import ROOT
from tests.cast import Cast, bell, cast
from tests.proxy import Proxy, embedded_postgres
from tests.runs.jobs import a_worker, silence
from tests.runs.worker.test_reaper import TOO_LATE, another_reaper, lost, run_on, worker

__all__ = ["bell", "cast", "worker"]

pytestmark = pytest.mark.django_db(transaction=True)

MODULES = """
import sys
import agui_host.embedded.burial
print(*sorted({name.split(".")[0] for name in sys.modules} & {"django", "redis", "structlog"}))
"""


def registered(number: int) -> bool:
    return Worker.objects.filter(pk=number).exists()


class Begun:
    """The program, as the supervisor starts it, and what it prints."""

    def __init__(self, number: int, parameters: dict[str, Any]) -> None:
        pipe = deployed.piped(json.dumps(parameters))
        self.process = subprocess.Popen(
            [sys.executable, "-m", deployed.BURIAL, str(number), str(pipe)],
            cwd=ROOT, stderr=subprocess.PIPE, text=True, pass_fds=(pipe,),
        )  # fmt: skip
        os.close(pipe)
        assert self.process.stderr is not None
        self.lines = self.process.stderr

    def __enter__(self) -> "Begun":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)
        self.lines.close()


def test_it_imports_no_django() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODULES], cwd=ROOT, capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == ""


def test_it_ends_that_registration_and_no_other(worker: int) -> None:
    other = a_worker()
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers default values returning id")
        (chores,) = cursor.fetchone()
    Worker.objects.filter(pk=worker).update(chores=chores)
    with Begun(worker, session_parameters()) as begun:
        assert begun.process.wait(30) == 0
        assert f"ended the registration of the dead worker {worker}" in begun.lines.read()
    assert (registered(worker), registered(other)) == (False, True)
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from procrastinate_workers where id = %s", [chores])
        assert cursor.fetchone()[0] == 0


def test_nobody_reads_what_it_connects_with(worker: int) -> None:
    secret = {**session_parameters(), "password": "a-password-of-the-database"}
    burials = deployed.Burials({"PATH": ""}, json.dumps(secret))
    burials.begin(worker)
    (process,) = burials._processes
    readable = [Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
    assert b"a-password" not in b"".join(readable)
    burials.settle()
    assert not registered(worker)


def test_the_database_is_away_at_first(worker: int) -> None:
    with Proxy(embedded_postgres()) as proxy:
        proxy.refusing = True
        address = {**session_parameters(), "host": proxy.host, "port": str(proxy.port)}
        with Begun(worker, address) as begun:
            first = begun.lines.readline()
            assert f"worker {worker} is dead, but its registration stays" in first
            assert registered(worker)
            proxy.refusing = False
            assert begun.process.wait(60) == 0
    assert not registered(worker)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(burial, "DEADLINE", 1)
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.signal(signal.SIGALRM, before)


def test_a_database_that_says_nothing(worker: int, impatient: None) -> None:
    """A lock that never comes stands for it. The statement stays, and does its work later."""
    with apart() as other:
        other.execute("select from runs_worker where id = %s for update", [worker])
        with pytest.raises(TimeoutError, match="did not answer within 1 s"):
            burial.end(worker, session_parameters())
        assert registered(worker)
    burial.end(worker, session_parameters())
    assert not registered(worker)


class TestTheOthers:
    """They look at once, before they may judge a heartbeat, and find what belongs to nobody."""

    def test_they_end_its_runs_and_nobody_elses(self, cast: Cast, bell: None, worker: int) -> None:
        other = a_worker()
        run, neighbour = run_on(worker, cast, "a"), run_on(other, cast, "b")
        silence(other, TOO_LATE)  # maybe all were silent, because the database was away
        lookout = reaper.Lookout()
        lookout.look()
        assert not lookout.misses_a_worker()
        burial.end(worker, session_parameters())
        assert lookout.misses_a_worker()
        lookout.look()
        assert lost(run)
        assert not lost(neighbour)
        assert not lookout.misses_a_worker()

    def test_the_next_worker_ends_them_at_its_start(
        self, cast: Cast, bell: None, worker: int
    ) -> None:
        run = run_on(worker, cast)
        burial.end(worker, session_parameters())
        reaper.Lookout().look()
        assert lost(run)

    def test_a_look_that_began_before_does_not_count(
        self, cast: Cast, bell: None, worker: int
    ) -> None:
        run = run_on(worker, cast)
        lookout = reaper.Lookout()
        lookout.look()
        with another_reaper():
            burial.end(worker, session_parameters())
            assert lookout.misses_a_worker()
            lookout.look()  # the other one has the lock
            assert not lost(run)
            assert lookout.misses_a_worker(), "it has not looked yet"
        lookout.look()
        assert lost(run)

    def test_a_new_worker_is_not_missed(self, worker: int) -> None:
        lookout = reaper.Lookout()
        lookout.look()
        a_worker()
        assert not lookout.misses_a_worker()

    def test_it_takes_a_moment(
        self, cast: Cast, bell: None, worker: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reaper, "looking_every", lambda: 3600.0)
        monkeypatch.setattr(reaper, "seconds_to_next", lambda: 3600.0)
        run = run_on(worker, cast)
        looked = threading.Event()
        real = reaper.look

        def noticed(may_judge: Callable[[], bool]) -> list[UUID] | None:
            ended = real(may_judge)
            looked.set()
            return ended

        monkeypatch.setattr(reaper, "look", noticed)

        async def until_it_is_lost() -> None:
            reaping = asyncio.create_task(reaper.run_forever())
            await asyncio.to_thread(looked.wait, 20)
            burial.end(worker, session_parameters())  # an alarm needs the main thread
            while not await db(lost, run):
                await asyncio.sleep(0.02)
            reaping.cancel()

        asyncio.run(asyncio.wait_for(until_it_is_lost(), 20))
