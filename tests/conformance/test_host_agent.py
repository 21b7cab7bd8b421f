"""HostAgent, our subclass of the stock client: it goes on where a connection broke."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import Host, wait_for
from tests.conformance.node import ready_packages, run_node
from tests.conformance.scenarios.parts import assistant, more, text
from tests.conformance.scenarios.plan import Scenario, Turn, go


def test_against_canned_answers(packages: None) -> None:
    done = run_node(["--test", str(ready_packages() / "host-agent.test.mjs")])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr


def play(host: Host, plan: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
    """One scenario in Node."""
    batch = {"url": host.url, "headers": host.headers, "atOnce": 1, "scenarios": [plan]}
    return run_node([str(ready_packages() / "scenario.mjs")], json.dumps(batch))


@pytest.mark.slow
def test_a_reader_outlives_the_web_process(
    packages: None, tough_host: Host, tmp_path: Path
) -> None:
    """The worker goes on while the web process is gone; the reader gets all of it, once."""
    host, gate = tough_host, tmp_path / "gate"
    script = [*text("m1", *["a"] * 50, end=False), {"until": str(gate)}, *more("m1", *["b"] * 50)]
    turn = Turn(script, reader="host")
    scenario = Scenario("restart", [turn], [go(), assistant("m1", "a" * 50 + "b" * 50)])
    plan = scenario.plan("1", str(tmp_path))

    def said_so_far() -> int:
        with host.client() as client:
            page = client.get("/api/v1/runs", params={"thread_id": plan["thread"]}).json()
        return len(host.events(page["results"][0]["id"])) if page["results"] else 0

    with ThreadPoolExecutor(1) as readers:
        reading = readers.submit(play, host, plan)
        try:
            wait_for(lambda: said_so_far() == 52, "the first half of the message")
            host.restart(host.web)
        finally:
            gate.touch()
        done = reading.result()
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.split("\n")[0])
    assert "broke" not in report, report["broke"]
    (run,) = report["turns"]
    assert run["dials"] > 1, "the connection never broke"
    assert "rejected" not in run
    assert run["types"].count("TEXT_MESSAGE_CONTENT") == 100
    assert run["holds"]["messages"] == list(scenario.messages)
    assert report["said"] == []
