"""The alerts as `promtool` proves them, and a real Prometheus that scrapes every process."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from agui_host.embedded import supervisor
from tests import needs
from tests.acceptance.host import Host, free_port, wait_for
from tests.backends.test_metrics import OURS
from tests.deploy.real_prometheus import FOLDER, METRICS_KEY, prometheus, quick_rules
from tests.house.repository import ROOT

OBJECTIVES = {"starts": 0.01, "events": 0.01, "webhooks": 0.05}
"""The part of each that may miss it."""
BURNS = {"fast": ("1h", "5m", 14.4), "slow": ("6h", "30m", 6.0)}
"""The windows of an alert, and how many times as fast as allowed the allowance is spent."""


def rules() -> list[dict[str, Any]]:
    """The rules of alerts."""
    return [rule for rule in _all_rules() if "alert" in rule]


def _all_rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def name(rule: Mapping[str, Any]) -> str:
    """The alert, and which of the two of an objective."""
    return " ".join(filter(None, (rule["alert"], rule["labels"].get("burn"))))


def test_each_alert_fires_by_its_cause_and_none_on_a_sound_host() -> None:
    promtool = needs.need("promtool")
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"],
        cwd=FOLDER, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    cases = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
    assert [case["name"] for case in cases] == [
        *map(name, rules()),
        "a sound host",
        "a host beside a sound one",
        "no process at all",
        "a few slow starts of a quiet night",
    ]
    sound = next(case for case in cases if case["name"] == "a sound host")
    looked = {each["alertname"] for each in sound["alert_rule_test"]}
    assert looked == {rule["alert"] for rule in rules()}


def test_each_alert_links_a_row_of_the_symptom_table() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page.partition("## ")[0]
    anchors = set(re.findall(r'<a id="([\w-]+)"></a>', table))
    linked = {rule["annotations"]["runbook_url"] for rule in rules()}
    assert linked == {f"docs/operations.md#{anchor}" for anchor in anchors}


def test_each_objective_has_an_alert_for_a_fast_and_a_slow_burn() -> None:
    """By the same rates of the same windows; the dashboard shows each, and the page names it."""
    recorded = {(rule["labels"]["objective"], rule["record"]) for rule in _all_rules()
                if "record" in rule}  # fmt: skip
    windows = [window for long, short, _ in BURNS.values() for window in (long, short)]
    assert recorded == {
        (objective, f"agui:missed:ratio_rate{window}")
        for objective in OBJECTIVES
        for window in windows
    }
    burning = {
        (word, rule["labels"]["burn"]): rule["expr"]
        for rule in rules()
        for word in OBJECTIVES
        if f'objective="{word}"' in rule["expr"]
    }
    assert burning.keys() == {(word, burn) for word in OBJECTIVES for burn in BURNS}
    for (word, burn), expression in burning.items():
        long, short, times = BURNS[burn]
        bar = f"{times * OBJECTIVES[word]:.3f}".rstrip("0")
        for window in (long, short):
            rate = f'agui:missed:ratio_rate{window}{{objective="{word}"}} > {bar}'
            assert rate in expression, (word, burn)
    panels = json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())["panels"]
    spending, met = (
        {target["legendFormat"]: target["expr"] for target in panel["targets"]}
        for panel in panels
        if panel["title"].startswith("Objectives: ")
    )
    assert spending.keys() == met.keys() == OBJECTIVES.keys()
    for word, allowed in OBJECTIVES.items():
        assert spending[word].endswith(f"/ {allowed}")


def test_alerts_ask_for_metrics_that_exist() -> None:
    documented = set(OURS.findall((ROOT / "docs" / "howto-monitoring.md").read_text()))
    used = {each for rule in _all_rules() for each in OURS.findall(rule["expr"])}
    assert {name.removesuffix("_bucket") for name in used} <= documented


REGISTERED = """
from runs.models import Worker
print(*sorted(Worker.objects.values_list("scraped_at", flat=True)))
"""
"""The addresses by which the doctor knows workers that answer scrapes."""


@dataclass
class TwoOfEach:
    """A host, its second worker, and the addresses that Prometheus scrapes."""

    host: Host
    worker: supervisor.Job
    webs: list[str]
    workers: list[str]


@pytest.fixture
def two_of_each(new_host: Any, request: pytest.FixtureRequest) -> Iterator[TwoOfEach]:
    """A host of two webs and two workers, the second of which serves the queue doomed as well."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        first = unused.getsockname()[1]
    host = new_host(
        AGUI_METRICS_KEY=METRICS_KEY, AGUI_METRICS_ADDRESS=f"127.0.0.1:{first}",
        **getattr(request, "param", {}),
    )  # fmt: skip
    port = free_port()
    web, worker = supervisor.web(port), supervisor.worker(2.0)
    web.name, worker.name = "web-2", "worker-2"
    host.spawn(web, PORT=str(port))
    host.spawn(worker, AGUI_WORKER_QUEUES="default,doomed")
    try:
        for job in (host.worker, worker):
            wait_for(lambda job=job: "metrics.served" in host.log_of(job), "metrics of a worker")
        served = re.compile(r"127\.0\.0\.1:\d+")
        workers = [
            served.findall(line)[-1]
            for job in (host.worker, worker)
            for line in host.log_of(job).splitlines()
            if "metrics.served" in line
        ]
        yield TwoOfEach(host, worker, [f"127.0.0.1:{host.port}", f"127.0.0.1:{port}"], workers)
    finally:
        for job in (worker, web):
            job.stop()


def test_a_real_prometheus_scrapes_two_webs_and_two_workers(
    two_of_each: TwoOfEach, tmp_path: Path
) -> None:
    host = two_of_each.host
    assert len(set(two_of_each.workers)) == 2
    assert host.python(REGISTERED).split() == sorted(two_of_each.workers)
    addresses = (two_of_each.webs, two_of_each.workers)
    with prometheus(tmp_path, *addresses, quick_rules(60)) as server:
        wait_for(
            lambda: sum(server.value('count(up{job=~"agui.*"} == 1)').values()) == 4,
            "four processes",
        )
        headers = {"authorization": f"Bearer {host.key}"}
        body = {"messages": [{"role": "user", "content": "What is a journal?"}]}
        answer = httpx.post(f"{host.url}/agui", json=body, headers=headers, timeout=60)
        assert "RUN_FINISHED" in answer.text
        ended = 'sum by (outcome, agent) (agui_runs_ended_total{job="agui-worker"})'
        wait_for(
            lambda: server.value(ended) == {"agent=docs outcome=succeeded": 1.0}, "the end of a run"
        )
        assert sum(server.value("agui_run_seconds_count").values()) == 1
        assert sum(server.value("agui_queue_seconds_count").values()) == 1
        route = 'sum by (route) (agui_http_requests_total{status="200", route=~".*agui.*"})'
        wait_for(lambda: sum(server.value(route).values()) == 1, "the answer")
        assert set(server.value("agui_workers").values()) == {2.0}
        assert len(server.value("agui_build_info")) == 4
