"""The second day of a host: each process scraped by address, and a new agent in the code."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.host import Host, free_port, wait_for
from tests.conftest import own_data_dir

KEY = "metrics-key-of-the-second-day-00000001"
AGENT = """
from agui_host import agent

@agent("later", description="Came later.")
def later(ctx):
    return "Here I am."
"""
TEAMS = """
from agui_host.runtimes.create_team import create_team
for slug in ("old-one", "old-two"):
    create_team(slug, slug)
"""
ROWS = """
from agui_host.runtimes.models import Agent
rows = Agent.objects.of_any_team().filter(slug="later", enabled=True)
print(sorted(rows.values_list("team__slug", flat=True)))
"""


@pytest.fixture
def host() -> Iterator[Host]:
    with own_data_dir() as data:
        address = f"127.0.0.1:{free_port()}"
        host = Host(data, AGUI_METRICS_KEY=KEY, AGUI_METRICS_ADDRESS=address)
        try:
            yield host.start()
        finally:
            host.stop()


def test_web_and_worker_are_scraped_and_old_teams_get_a_new_agent(
    host: Host, tmp_path: Path
) -> None:
    web = httpx.get(
        f"{host.url}/metrics",
        headers={"Authorization": f"Bearer {KEY}", "Host": f"10.9.8.7:{host.port}"},
        timeout=20,
    )
    assert (web.status_code, "agui_start_seconds_count" in web.text) == (200, True)
    worker = httpx.get(f"http://{host.settings['AGUI_METRICS_ADDRESS']}/metrics", timeout=20)
    assert (worker.status_code, "agui_worker_slots" in worker.text) == (200, True)

    host.python(TEAMS)
    assert host.python(ROWS).strip() == "[]"
    (tmp_path / "new_agents.py").write_text(AGENT)
    host.env |= {"PYTHONPATH": str(tmp_path), "AGUI_AGENT_MODULES": "new_agents"}
    host.restart(host.worker)
    wait_for(lambda: "old-one" in host.python(ROWS), "the new agent to reach the teams")
    assert host.python(ROWS).strip() == "['demo', 'old-one', 'old-two']"

    host.env["AGUI_AGENT_MODULES"] = ""
    host.manage("migrate", "-v0")
    assert host.python(ROWS).strip() == "[]"
