"""/health asks nobody; /ready says what is missing, and 503 only when nothing works without it."""

import json
import time
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from agui_host.backends import bell, epochs
from agui_host.backends.postgres.clock_watch import ClockWatch
from agui_host.web import health
from agui_project import release
from tests.asgi import ask
from tests.runs.jobs import a_worker, silence

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_workers(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("update procrastinate_jobs set worker_id = null")
        cursor.execute("delete from procrastinate_workers")
        cursor.execute("delete from runs_worker")


@pytest.fixture
def worker(_no_workers: None) -> int:
    return a_worker()


async def test_health_asks_nobody() -> None:
    """No thread either: it answers while all of them are busy."""

    async def busy(scope: Any, receive: Any, send: Any) -> None:
        pytest.fail("the application was asked")

    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    await health.Alive(busy)({"path": "/health", "method": "GET"}, send, send)
    assert messages[0]["status"] == 200
    body = json.loads(messages[1]["body"])
    assert (body["status"], body["protocol"]) == ("healthy", "AG-UI")
    assert (body["version"], body["commit"]) == (release.version(), release.commit())


def test_ready_with_everything(client: Client, worker: int) -> None:
    answer = client.get("/ready")
    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("epoch") == epochs.latest
    assert body == {"status": "ready", "database": "ok", "bell": "ok", "workers": 1}


def test_a_wrong_clock_is_named(
    client: Client, worker: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ClockWatch().run_once()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 60)
    answer = client.get("/ready").json()
    assert (answer["status"], answer["clock"]) == ("ready", pytest.approx(-60, abs=1))


def test_without_workers_runs_only_wait(client: Client) -> None:
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["workers"] == 0


def test_a_worker_that_went_silent_does_not_count(
    client: Client, worker: int, settings: Settings
) -> None:
    silence(worker, settings.AGUI_WORKER_LOST_AFTER + 1)
    assert client.get("/ready").json()["workers"] == 0


def test_without_the_bell_readers_are_only_slower(
    client: Client, worker: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell, "reachable", lambda: False)
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["bell"] == "down"


def test_without_the_database_nothing_works(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("connection refused: password=hunter2")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get("/ready")
    monkeypatch.undo()
    assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")
    assert answer.json()["database"] == "down"
    assert b"hunter2" not in answer.content


def test_a_database_without_tables_is_no_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "WORKERS", "select 1 from not_migrated_yet where %(lost)s > 0")
    assert client.get("/ready").status_code == 503


@pytest.mark.parametrize("url", ["/health", "/ready"])
async def test_only_reading_is_possible(url: str) -> None:
    assert (await ask("HEAD", url)).status == 200
    refused = await ask("POST", url)
    assert refused.status == 405
    assert "GET" in refused.headers["allow"]
