"""Clients that strangers generate from /api/schema/: they compile strictly and drive a run each.

The client class of openapi-python-client passes untyped arguments on, by its own template; mypy
looks at everything else that it makes, and at the program that uses it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.host import Host
from tests.clients.environments import programs
from tests.clients.test_python import finished
from tests.conformance.node import ready_packages, run_node

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
HERE = Path(__file__).parent / "generators"
STRICT = {
    "strict": True, "module": "NodeNext", "target": "ES2022", "types": ["node"],
    "lib": ["ES2023", "DOM", "DOM.AsyncIterable", "DOM.Iterable"],
}  # fmt: skip
CONFIG = {
    # It looks for tsconfig.json above its own files, so it has to be told what imports look like.
    "output": {"path": "generated", "module": {"extension": ".js"}},
    "input": "schema.json", "plugins": ["@hey-api/client-fetch"],
}  # fmt: skip
OVERRIDES = {"application/x-ndjson": "application/octet-stream"}
"""What the generator of Python has to be told of a media type that it does not know."""

PROGRAM = """
import json
import os
import uuid

from generated.api.agui import agui_agent_run
from generated.api.api import api_v1_runs_events_retrieve, api_v1_runs_list
from generated.client import AuthenticatedClient
from generated.models.event_page import EventPage
from generated.models.paginated_run_row_list import PaginatedRunRowList
from generated.models.run_agent_input import RunAgentInput

client = AuthenticatedClient(base_url=os.environ["AGUI_URL"], token=os.environ["AGUI_KEY"])
thread = str(uuid.uuid4())
question = {"role": "user", "content": "What is a journal?"}
body = RunAgentInput.from_dict({"threadId": thread, "messages": [question]})
streamed = agui_agent_run.sync("docs", client=client, body=body)
assert isinstance(streamed, str)
data = [line[5:] for line in streamed.splitlines() if line.startswith("data:")]
listed = api_v1_runs_list.sync(client=client, thread_id=thread)
assert isinstance(listed, PaginatedRunRowList)
(run,) = listed.results
page = api_v1_runs_events_retrieve.sync(run.id, client=client)
assert isinstance(page, EventPage)
types = [json.loads(each)["type"] for each in data]
print(json.dumps({"types": types, "status": run.status, "page": page.to_dict()}))
"""


@pytest.fixture
def schema(host: Host, tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_bytes(httpx.get(f"{host.url}/api/schema/?format=json", timeout=60).content)
    return path


@pytest.fixture
def env(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_URL", host.url)
    monkeypatch.setenv("AGUI_KEY", host.key)


@pytest.mark.usefixtures("env")
def test_openapi_ts(schema: Path, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(ready_packages(HERE) / "node_modules")
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT}))
    (tmp_path / "run.mts").write_text((HERE / "run.mts").read_text())
    (tmp_path / "openapi-ts.config.mjs").write_text(f"export default {json.dumps(CONFIG)};")
    for command in (
        ["node_modules/@hey-api/openapi-ts/bin/run.js"],
        ["node_modules/typescript/bin/tsc", "-p", "."],
    ):
        done = run_node(command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    judge(run_node(["run.mjs"], cwd=tmp_path))


@pytest.mark.usefixtures("env")
def test_openapi_python_client(schema: Path, tmp_path: Path) -> None:
    bin_dir = programs("openapi-python-client", HERE / "requirements.lock")
    path = os.pathsep.join([str(bin_dir), os.environ["PATH"]])
    config = tmp_path / "config.yml"
    config.write_text(json.dumps({"content_type_overrides": OVERRIDES}))
    done = finished(
        bin_dir / "openapi-python-client", "generate", "--path", schema, "--meta", "none",
        "--output-path", "generated", "--fail-on-warning", "--config", config,
        cwd=tmp_path, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "run.py").write_text(PROGRAM)
    typed = finished(
        sys.executable, "-m", "mypy", "--strict", "run.py", "-p", "generated", cwd=tmp_path
    )
    lines = [line for line in typed.stdout.splitlines() if ": error:" in line]
    assert [line for line in lines if not line.startswith("generated/client.py:")] == []
    judge(finished(bin_dir / "python", "run.py", cwd=tmp_path))


def judge(done: "subprocess.CompletedProcess[str]") -> None:
    """What the program printed: the run's events as they were streamed and as they are stored."""
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    assert printed["status"] == "succeeded"
    types = printed["types"]
    assert (types[0], types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert [row["event"]["type"] for row in printed["page"]["events"]] == types
    assert printed["page"]["ended"] is True
