"""Alerts fire in a real Prometheus when their causes happen to two webs and two workers.

A minute of the rules lasts a second here; thresholds are those of the file.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from agui_host.embedded import paths
from tests.acceptance.host import free_port, wait_for
from tests.deploy.real_prometheus import Prometheus, prometheus, quick_rules
from tests.deploy.test_prometheus import TwoOfEach, rules, two_of_each

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
__all__ = ["two_of_each"]
ONLY_BY_PROMTOOL = {
    "AguiBellLost", "AguiChoresLate", "AguiDown", "AguiErrors", "AguiNoWorkers", "AguiRunsLost",
    "AguiRunsWait", "AguiSlowEvents",
}  # fmt: skip
MOST_STREAMS = 8
SETTINGS = {
    "AGUI_LIMIT_OPEN_STREAMS": str(MOST_STREAMS),
    "AGUI_OUTBOUND_ALLOW": "127.0.0.1",
}
SWEEPS = """
from procrastinate.contrib.django import app
for number in range(5):
    task = app.configure_task("runs.tasks.sweep_files", queueing_lock=f"files-{number}")
    task.defer(timestamp=number)
"""
FUTURE = """
select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
 where i.inhparent = 'events_event'::regclass order by 1 desc limit 12
"""
STREAM = [{"text": "w", "n": 6_000, "rate": 40}]
FAIL = [{"raise": "on purpose"}]


class Causes:
    """The causes of alerts, as context managers: each lasts until its block ends."""

    def __init__(self, cast: TwoOfEach) -> None:
        self.host = cast.host
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
    def all_streams_open(self) -> Iterator[None]:
        run = self.host.begin(script=STREAM)
        with self.host.client() as client, ExitStack() as stack:
            for _ in range(MOST_STREAMS):
                address = f"/api/v1/runs/{run['id']}/events"
                headers = {"accept": "text/event-stream"}
                answer = stack.enter_context(client.stream("GET", address, headers=headers))
                assert answer.status_code == 200
                thread = threading.Thread(target=_drain, args=(answer,), daemon=True)
                thread.start()
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
            self.host.python(SWEEPS)
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
            wait_for(all_fired, f"{alerts}", 90)
        except AssertionError as late:
            raise AssertionError(f"not fired: {alerts - fired}") from late
    return alerts


@pytest.mark.parametrize("two_of_each", [SETTINGS], indirect=True)
def test_alerts_are_fired_by_their_causes(two_of_each: TwoOfEach, tmp_path: Path) -> None:
    cast = two_of_each
    causes = Causes(cast)
    with prometheus(tmp_path, cast.webs, cast.workers, quick_rules(1)) as server:
        wait_for(lambda: sum(server.value("up").values()) == 4, "four processes")
        wait_for(lambda: server.value("agui_workers") != {}, "a scrape of a web")
        wait_for(lambda: server.firing() == set(), "a sound host")
        fired = fire(
            server,
            {"AguiAgentFails", "AguiWebhooksFail", "AguiStreamsNearLimit", "AguiSlowStarts",
             "AguiChoresFail", "AguiPartitionsEnd"},
            causes.task_without_its_table(), causes.no_future_months(), causes.all_streams_open(),
            causes.failing_agent(), causes.receiver_that_is_away(), causes.locked_table(),
        )  # fmt: skip
    assert fired | ONLY_BY_PROMTOOL == {rule["alert"] for rule in rules()}
