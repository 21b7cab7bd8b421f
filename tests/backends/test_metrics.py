"""Metrics: read by the operator alone, documented, and true."""

import errno
import json
import re
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from agui_host.backends import metrics
from agui_host.backends.postgres.bridge import db
from agui_host.backends.stream_limit import seats
from events.models import SealedObject
from runs.lifecycle.usage import rollup
from runs.models import Run, TeamUsage
from runs.worker import tasks
from tests.asgi import ask
from tests.cast import Cast, bell, cast, register, start
from tests.runs.asking import end

__all__ = ["bell", "cast", "register"]

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]
KEY = "k" * 32
OURS = re.compile(r"\bagui_[a-z_]+")


@pytest.fixture
def _key(settings: Settings) -> None:
    settings.AGUI_METRICS_KEY = KEY


async def scrape() -> dict[tuple[str, str], float]:
    answer = await ask("GET", "/metrics", {"authorization": f"Bearer {KEY}"})
    assert answer.status == 200
    return samples(answer.body.decode())


def samples(text: str) -> dict[tuple[str, str], float]:
    """Values by name and team."""
    return {
        (sample.name, sample.labels.get("team", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_only_the_operator_reads_them(cast: Cast, settings: Settings) -> None:
    owner: Any = cast.alice.headers
    assert (await ask("GET", "/metrics", owner)).code == "not_found"
    settings.AGUI_METRICS_KEY = KEY
    for headers in ({}, owner, {"authorization": f"Bearer {KEY}x"}):
        assert (await ask("GET", "/metrics", headers)).status == 401
    right = {"authorization": f"Bearer {KEY}"}
    assert (await ask("POST", "/metrics", right)).status == 405


@pytest.mark.usefixtures("_key", "bell")
async def test_a_start_is_counted_and_waits_in_its_queue(cast: Cast) -> None:
    before = await scrape()
    for thread in ("one", "two"):
        body = {"input": {"threadId": thread, "messages": []}}
        answer = await ask("POST", "/api/v1/runs", cast.alice.headers, json=body)
        assert answer.status == 202
    after = await scrape()

    def more(name: str) -> float:
        return after[name, ""] - before[name, ""]

    assert more("agui_start_seconds_count") == more("agui_start_statements_count") == 2
    assert 0 < more("agui_start_statements_sum") <= more("agui_statements_total")
    assert after["agui_queued_runs", cast.team.slug] == 2
    assert after["agui_oldest_queued_seconds", cast.team.slug] >= 0
    assert after["agui_pool_size", ""] >= 1
    # The second thread's run waits for a worker as well; neither queue is another one.
    assert 0 <= after["agui_queue_age_seconds", ""] < 60


@pytest.mark.usefixtures("_key")
async def test_the_streams_of_a_team_and_their_limit(cast: Cast) -> None:
    async with seats().taken(cast.team.pk, 20), seats().taken("link:x", 5):
        scraped = await scrape()
    assert scraped["agui_streams", cast.team.slug] == 1
    assert scraped["agui_streams_limit", cast.team.slug] == 20
    assert scraped.get(("agui_streams", "")) is None, "links have no team's limit"


def test_a_periodic_task_that_fails_is_counted_from_zero() -> None:
    failures = tasks.failures_of("runs.tasks.store_words")
    before = failures._value.get()

    def fails() -> None:
        raise OSError("disk full")

    context: Any = SimpleNamespace(job=SimpleNamespace(task_name="runs.tasks.store_words"))
    with pytest.raises(OSError, match="disk full"):
        tasks.count_failures(fails, context, Any)
    assert failures._value.get() == before + 1
    assert tasks.count_failures(lambda: 7, context, Any) == 7
    assert 'agui_chore_failures_total{chore="store_words"}' in metrics.render().decode()


@pytest.mark.usefixtures("_key")
async def test_the_usage_of_today_and_the_stored_bytes(cast: Cast) -> None:
    def spend() -> None:
        end(start(cast.alice))
        figures = {"tokens_in": 50, "tokens_out": 7, "cost": 0.25}
        Run.objects.for_team(cast.team).update(**figures)
        rollup.run_once(60)
        TeamUsage.objects.update_or_create(team=cast.team, defaults={"stored_bytes": 1_234})
        SealedObject.objects.create(place=uuid4(), size=77, logs=1)

    await db(spend)
    scraped = await scrape()
    assert scraped["agui_stored_bytes", cast.team.slug] == 1_234
    assert scraped["agui_sealed_bytes", ""] == 77
    assert scraped["agui_cost_dollars_today", cast.team.slug] == 0.25
    answer = await ask("GET", "/metrics", {"authorization": f"Bearer {KEY}"})
    assert f'direction="in",team="{cast.team.slug}"}} 50.0' in answer.body.decode()


@pytest.mark.usefixtures("_key")
async def test_all_are_documented_and_the_dashboard_names_no_other() -> None:
    answer = await ask("GET", "/metrics", {"authorization": f"Bearer {KEY}"})
    families = list(text_string_to_metric_families(answer.body.decode()))
    names = {sample.name for family in families for sample in family.samples}
    plain = {family.name + "_total" * (family.type == "counter") for family in families}
    ours = {name for name in plain if name.startswith("agui_")}
    text = (ROOT / "docs" / "howto-monitoring.md").read_text()
    assert set(OURS.findall(text)) == ours
    panels = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text())["panels"]
    queried = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in OURS.findall(target["expr"])
    }
    # Prometheus names no sample of a labelled counter or gauge before its first value.
    assert queried <= names | ours
    assert len(panels) > 10


@pytest.mark.usefixtures("_key", "cast")
async def test_a_scrape_by_address_needs_the_key_and_opens_no_other_page() -> None:
    address = {"host": "10.1.2.3:8000"}
    right = {**address, "authorization": f"Bearer {KEY}"}
    assert (await ask("GET", "/metrics", right)).status == 200
    wrong = {**address, "authorization": f"Bearer {KEY}x"}
    assert (await ask("GET", "/metrics", wrong)).status == 400
    assert (await ask("GET", "/metrics", address)).status == 400
    for page in ("/api/v1/runs", "/agents/run", "/accounts/login/", "/runs/"):
        assert (await ask("GET", page, right)).status == 400, page


def test_workers_of_one_machine_share_seven_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[int] = set()

    def start(port: int, addr: str, registry: object) -> None:
        if port in taken:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        taken.add(port)

    monkeypatch.setattr(metrics, "start_http_server", start)
    for _ in range(7):
        metrics.serve("127.0.0.1:9464")
    assert taken == set(range(9464, 9471))
    with structlog.testing.capture_logs() as lines:
        metrics.serve("127.0.0.1:9464")  # all are taken: it is logged, and work goes on
    assert [line["event"] for line in lines] == ["metrics.not_served"]


def test_a_worker_answers_at_the_next_free_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with structlog.testing.capture_logs() as lines:
            metrics.serve(f"127.0.0.1:{port}")
    served_at = str(lines[0]["address"])
    assert port < int(served_at.rpartition(":")[2]) < port + metrics.PORTS
    answer = httpx.get(f"http://{served_at}/metrics", timeout=10)
    assert ("agui_worker_runs", "") in samples(answer.text)
