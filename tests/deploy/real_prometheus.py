"""A Prometheus that scrapes processes of tests each second, with the shipped rules."""

import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from agui_host.embedded import child
from tests import needs
from tests.acceptance.host import free_port
from tests.house.repository import ROOT

FOLDER = ROOT / "deploy" / "prometheus"
METRICS_KEY = "k" * 40
WINDOW = re.compile(r"(?<=\[)(\d+)([mh])(?=\])")
MINUTES = {"m": 1, "h": 60}
LEAST_WINDOW = 15
"""Seconds: on a busy machine some scrapes fail, and a rate needs two."""


def quick_rules(seconds_per_minute: int) -> dict[str, Any]:
    """The rules with shorter minutes in their windows and waits; thresholds stay."""
    rules: dict[str, Any] = yaml.safe_load((FOLDER / "alerts.yml").read_text())

    def shorter(match: re.Match[str]) -> str:
        minutes = int(match[1]) * MINUTES[match[2]]
        return f"{max(LEAST_WINDOW, minutes * seconds_per_minute)}s"

    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule["expr"] = WINDOW.sub(shorter, rule["expr"])
        if "for" in rule:
            rule["for"] = f"{int(rule['for'].removesuffix('m')) * seconds_per_minute}s"
    return rules


class Prometheus:
    """Its answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/api/v1"

    def value(self, query: str) -> dict[str, float]:
        """The values of a query by their labels; none while it does not answer."""
        return {
            " ".join(f"{k}={v}" for k, v in sorted(row["metric"].items())): float(row["value"][1])
            for row in self._get("query", query=query).get("result", [])
        }

    def firing(self) -> set[str]:
        """The names of alerts that fire."""
        alerts = self._get("alerts").get("alerts", [])
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def _get(self, path: str, **query: str) -> Mapping[str, Any]:
        try:
            answer = httpx.get(f"{self.url}/{path}", params=query, timeout=5).json()
        except (httpx.HTTPError, ValueError):
            return {}
        data: Mapping[str, Any] = answer.get("data", {})
        return data


@contextmanager
def prometheus(
    folder: Path, webs: Sequence[str], workers: Sequence[str], rules: Mapping[str, Any]
) -> Iterator[Prometheus]:
    """A Prometheus that scrapes these addresses."""
    program = needs.need("prometheus")
    jobs = [
        {"job_name": "agui-web", "authorization": {"credentials": METRICS_KEY},
         "static_configs": [{"targets": list(webs)}]},
        {"job_name": "agui-worker", "static_configs": [{"targets": list(workers)}]},
    ]  # fmt: skip
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": jobs,
    }
    (folder / "rules.yml").write_text(yaml.safe_dump(rules))
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    arguments = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
    }
    command = [str(program), *(f"--{name}={value}" for name, value in arguments.items())]
    with (folder / "log").open("wb") as log:
        process = child.spawn(command, death=signal.SIGKILL, log=log)
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(30)
