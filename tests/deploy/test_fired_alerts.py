"""Each alert fires in a real Prometheus when its cause happens to two webs and two workers.

A minute of the rules lasts a second here; thresholds are those of the file.
Two alerts need something old, whose time is set back in the database: AguiRunsWait and
AguiChoresLate.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from agui_host.embedded import paths
from tests.acceptance.host import child_pids, free_port, wait_for
from tests.deploy.real_prometheus import Prometheus, prometheus, quick_rules
from tests.deploy.test_prometheus import TwoOfEach, rules, two_of_each

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
__all__ = ["two_of_each"]
MOST_STREAMS = 8
SETTINGS = {
    "AGUI_LIMIT_OPEN_STREAMS": str(MOST_STREAMS),
    "AGUI_OUTBOUND_ALLOW": "127.0.0.1",
}
PREPARED = """
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
Agent.objects.create(
    team=Team.objects.get(slug="demo"), slug="doomed", name="Doomed", target="scripted",
    queue="doomed",
)
from procrastinate.contrib.django import app
for number in range(5):
    task = app.configure_task("runs.tasks.sweep_files", queueing_lock=f"files-{number}")
    task.defer(timestamp=number)
"""
FUTURE = """
select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
 where i.inhparent = 'events_event'::regclass order by 1 desc limit 12
"""
OLDER = """
update runs_run set created_at = created_at - interval '10 min' where status = 'queued';
update runs_runwords set words = null, due = 1;
update events_journal set closed_at = closed_at - interval '10 min';
"""
STREAM = [{"text": "w", "n": 6_000, "rate": 40}]
FROZEN, THAWED = 1.9, 1.2
"""Seconds: events are late by up to the first, and a scrape a second is answered in the other."""
FAIL = [{"raise": "on purpose"}]


class Causes:
    """The causes of alerts, as context managers: each lasts until its block ends."""

    def __init__(self, cast: TwoOfEach) -> None:
        self.host, self.other_worker = cast.host, cast.worker
        self.other_web = f"http://{cast.webs[1]}"
        sockets = paths.socket_dir(self.host.data)
        self.where = f"host={sockets} user=postgres dbname=postgres"

    def sql(self, statement: str) -> list[Any]:
        with psycopg.connect(self.where, autocommit=True) as session:
            cursor = session.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def again_and_again(self, action: Callable[[], object], pause: float = 0.3) -> Iterator[None]:
        over = threading.Event()

        def repeat() -> None:
            while not over.wait(pause):
                with suppress(httpx.HTTPError, AssertionError):
                    action()

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def fail(self) -> None:
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": FAIL}}}
        with suppress(httpx.HTTPError):
            headers = self.host.headers
            httpx.post(f"{self.other_web}/api/v1/runs", json=body, headers=headers, timeout=30)

    def ask_for_a_file(self) -> None:
        address = f"{self.other_web}/api/v1/files/{uuid4()}"
        httpx.get(address, headers=self.host.headers, timeout=30)

    def failing_agent(self) -> Any:
        return self.again_and_again(self.fail)

    @contextmanager
    def receiver_that_is_away(self) -> Iterator[None]:
        """New ones each time: a webhook that fails is tried less often."""
        body = {"url": f"http://127.0.0.1:{free_port()}/", "events": ["run.failed"]}
        with self.host.client() as client:

            def again() -> None:
                made = client.post("/api/v1/webhooks", json=body)
                assert made.status_code == 201, made.text
                client.post(f"/api/v1/webhooks/{made.json()['id']}/test")
                time.sleep(1)
                client.delete(f"/api/v1/webhooks/{made.json()['id']}")

            again()
            with self.again_and_again(again):
                yield

    @contextmanager
    def streaming(self) -> Iterator[str]:
        """A run that streams meanwhile; the address of its events."""
        run = self.host.begin(script=STREAM)
        self.host.wait_status(run["id"], "running")
        try:
            yield f"/api/v1/runs/{run['id']}/events"
        finally:
            with self.host.client() as client:
                client.post(f"/api/v1/runs/{run['id']}/cancel")

    @contextmanager
    def readers(self, count: int) -> Iterator[None]:
        with self.streaming() as address, self.host.client() as client, ExitStack() as stack:
            for _ in range(count):
                headers = {"accept": "text/event-stream"}
                answer = stack.enter_context(client.stream("GET", address, headers=headers))
                assert answer.status_code == 200
                thread = threading.Thread(target=_drain, args=(answer,), daemon=True)
                thread.start()
            yield

    def all_streams_open(self) -> Any:
        return self.readers(MOST_STREAMS)

    @contextmanager
    def stuttering_web(self) -> Iterator[None]:
        """A process that is frozen for over a second, again and again."""
        assert self.host.web.process
        pids = [int(pid) for pid in child_pids(self.host.web.process.pid)]
        assert pids, "Granian's own process only watches the other"

        def freeze() -> None:
            for pause, word in ((FROZEN, signal.SIGSTOP), (0, signal.SIGCONT)):
                for pid in pids:
                    os.kill(pid, word)
                time.sleep(pause)

        with self.readers(1), self.again_and_again(freeze, THAWED):
            yield

    def locked_table(self) -> Any:
        """Each start waits for over a second for a lock that another session holds."""

        def lock() -> None:
            with psycopg.connect(self.where) as session:
                session.execute("lock table runs_run in share row exclusive mode")
                start = threading.Thread(target=self.fail)
                start.start()
                time.sleep(1.8)
                session.rollback()
                start.join()

        return self.again_and_again(lock, 0.1)

    @contextmanager
    def task_without_its_table(self) -> Iterator[None]:
        self.sql("alter table runs_file rename to runs_file_away")
        try:
            self.host.python(PREPARED)
            with self.again_and_again(self.ask_for_a_file):
                yield
        finally:
            self.sql("alter table runs_file_away rename to runs_file")

    @contextmanager
    def no_future_months(self) -> Iterator[None]:
        months = [name for (name,) in self.sql(FUTURE)]
        for month in months:
            self.sql(f"alter table {month} rename to away_{month}")
        try:
            yield
        finally:
            for month in months:
                self.sql(f"alter table away_{month} rename to {month}")

    @contextmanager
    def killed_worker(self) -> Iterator[None]:
        run = self.host.begin("doomed", script=[{"forever": True}])
        self.host.wait_status(run["id"], "running")
        assert self.other_worker.process
        self.other_worker.process.send_signal(signal.SIGKILL)
        self.other_worker.process.wait(10)
        yield

    @contextmanager
    def no_valkey(self) -> Iterator[None]:
        assert self.host.engines
        with self.streaming():
            self.host.engines.stop_valkey()
            try:
                yield
            finally:
                self.host.engines.start_valkey()

    @contextmanager
    def no_workers(self) -> Iterator[None]:
        """What waits for them is set back in time."""
        self.host.worker.stop()
        assert self.host.begin(script=FAIL)["status"] == "queued"
        self.sql(OLDER)
        yield


def _drain(answer: httpx.Response) -> None:
    with suppress(httpx.HTTPError, httpx.StreamError):
        for _ in answer.iter_bytes():
            pass


def fire(server: Prometheus, alerts: set[str], *causes: Any) -> set[str]:
    """Let the causes last until all of these alerts have fired."""
    fired: set[str] = set()
    with ExitStack() as stack:
        for cause in causes:
            stack.enter_context(cause)

        def all_fired() -> bool:
            fired.update(server.firing())
            return alerts <= fired

        try:
            wait_for(all_fired, f"{alerts}", 120)
        except AssertionError as late:
            raise AssertionError(f"not fired: {alerts - fired}") from late
    return alerts


@pytest.mark.parametrize("two_of_each", [SETTINGS], indirect=True)
def test_each_alert_is_fired_by_its_cause(two_of_each: TwoOfEach, tmp_path: Path) -> None:
    cast = two_of_each
    causes = Causes(cast)
    with prometheus(tmp_path, cast.webs, cast.workers, quick_rules(1)) as server:
        wait_for(lambda: sum(server.value("up").values()) == 4, "four processes")
        wait_for(lambda: server.value("agui_workers") != {}, "a scrape of a web")
        wait_for(lambda: server.firing() == set(), "a sound host")
        fired = fire(
            server,
            {"AguiAgentFails", "AguiWebhooksFail", "AguiStreamsNearLimit", "AguiSlowStarts",
             "AguiChoresFail", "AguiPartitionsEnd", "AguiErrors"},
            causes.task_without_its_table(), causes.no_future_months(), causes.all_streams_open(),
            causes.failing_agent(), causes.receiver_that_is_away(), causes.locked_table(),
        )  # fmt: skip
        fired |= fire(
            server, {"AguiRunsLost", "AguiDown", "AguiSlowEvents"},
            causes.killed_worker(), causes.stuttering_web(),
        )  # fmt: skip
        fired |= fire(server, {"AguiBellLost"}, causes.no_valkey())
        fired |= fire(
            server, {"AguiNoWorkers", "AguiRunsWait", "AguiChoresLate"}, causes.no_workers()
        )
    assert fired == {rule["alert"] for rule in rules()}
