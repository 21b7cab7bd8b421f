"""The alerts as `promtool` proves them, and a real Prometheus that scrapes every process."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from agui_host.embedded import child, supervisor
from tests import needs
from tests.acceptance.host import Host, free_port, wait_for
from tests.backends.test_metrics import OURS
from tests.house.repository import ROOT

FOLDER = ROOT / "deploy" / "prometheus"
METRICS_KEY = "k" * 40


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_each_alert_fires_by_its_cause_and_none_on_a_sound_host() -> None:
    promtool = needs.need("promtool")
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"],
        cwd=FOLDER, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    cases = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
    assert [case["name"] for case in cases] == [
        *(rule["alert"] for rule in rules()),
        "a sound host",
    ]


def test_each_alert_links_a_row_of_the_symptom_table() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page.partition("## ")[0]
    anchors = set(re.findall(r'<a id="([\w-]+)"></a>', table))
    linked = {rule["annotations"]["runbook_url"] for rule in rules()}
    assert linked == {f"docs/operations.md#{anchor}" for anchor in anchors}


def test_alerts_ask_for_metrics_that_exist() -> None:
    documented = set(OURS.findall((ROOT / "docs" / "howto-monitoring.md").read_text()))
    used = {name for rule in rules() for name in OURS.findall(rule["expr"])}
    assert {name.removesuffix("_bucket") for name in used} <= documented


@pytest.fixture
def two_of_each(new_host: Any) -> Iterator[tuple[Host, list[str], list[str]]]:
    """A host of two webs and two workers, with the addresses that Prometheus scrapes."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        first = unused.getsockname()[1]
    host = new_host(AGUI_METRICS_KEY=METRICS_KEY, AGUI_METRICS_ADDRESS=f"127.0.0.1:{first}")
    port = free_port()
    web, worker = supervisor.web(port), supervisor.worker(2.0)
    web.name, worker.name = "web-2", "worker-2"
    host.spawn(web, PORT=str(port))
    host.spawn(worker)
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
        yield host, [f"127.0.0.1:{host.port}", f"127.0.0.1:{port}"], workers
    finally:
        for job in (worker, web):
            job.stop()


def test_a_real_prometheus_scrapes_two_webs_and_two_workers(
    two_of_each: tuple[Host, list[str], list[str]], tmp_path: Path
) -> None:
    program = needs.need("prometheus")
    host, webs, workers = two_of_each
    assert len(set(workers)) == 2
    jobs = [
        {"job_name": "agui-web", "authorization": {"credentials": METRICS_KEY},
         "static_configs": [{"targets": webs}]},
        {"job_name": "agui-worker", "static_configs": [{"targets": workers}]},
    ]  # fmt: skip
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(FOLDER / "alerts.yml")],
        "scrape_configs": jobs,
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    arguments = {
        "config.file": tmp_path / "prometheus.yml",
        "storage.tsdb.path": tmp_path / "data",
        "web.listen-address": f"127.0.0.1:{port}",
    }
    command = [str(program), *(f"--{name}={value}" for name, value in arguments.items())]
    with (tmp_path / "log").open("wb") as log:
        process = child.spawn(command, death=signal.SIGKILL, log=log)

    def value(query: str) -> dict[str, float]:
        try:
            answer = httpx.get(
                f"http://127.0.0.1:{port}/api/v1/query", params={"query": query}, timeout=5
            ).json()
        except (httpx.HTTPError, ValueError):
            return {}
        return {
            " ".join(f"{k}={v}" for k, v in sorted(row["metric"].items())): float(row["value"][1])
            for row in answer["data"]["result"]
        }

    try:
        wait_for(
            lambda: sum(value('count(up{job=~"agui.*"} == 1)').values()) == 4, "four processes"
        )
        headers = {"authorization": f"Bearer {host.key}"}
        body = {"messages": [{"role": "user", "content": "What is a journal?"}]}
        answer = httpx.post(f"{host.url}/agui", json=body, headers=headers, timeout=60)
        assert "RUN_FINISHED" in answer.text
        ended = 'sum by (outcome, agent) (agui_runs_ended_total{job="agui-worker"})'
        wait_for(lambda: value(ended) == {"agent=docs outcome=succeeded": 1.0}, "the end of a run")
        assert sum(value("agui_run_seconds_count").values()) == 1
        assert sum(value("agui_queue_seconds_count").values()) == 1
        route = 'sum by (route) (agui_http_requests_total{status="200", route=~".*agui.*"})'
        wait_for(lambda: sum(value(route).values()) == 1, "the answer")
        assert set(value("agui_workers").values()) == {2.0}
        assert len(value("agui_build_info")) == 4
    finally:
        process.terminate()
        process.wait(30)
