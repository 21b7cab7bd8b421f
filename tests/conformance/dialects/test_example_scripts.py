"""docs/examples: scripts print what their pages say, and a workflow can repeat its steps."""

import os
import re
import subprocess
import sys

import pytest

from tests.acceptance.host import ROOT, Host


@pytest.mark.parametrize("name", ["openai", "mcp-client"])
def test_a_script_prints_what_its_page_says(host: Host, name: str) -> None:
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (output,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "AGUI_URL": host.url, "AGUI_KEY": host.key},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


STEPS = """
for _ in range(2):
    run = open_run("w-1")
for number, text in enumerate(["a: 7 rows", "b: 7 rows"]):
    feed("w-1", run, number, text)
    feed("w-1", run, number, text)
close_run("w-1", run, 2)
close_run("w-1", run, 2)
feed("w-1", run, 3, "after the end, as after a cancel")
print(run)
"""


def test_a_workflow_whose_steps_are_executed_twice(host: Host) -> None:
    page = (ROOT / "docs" / "examples" / "workflows.md").read_text("utf-8")
    code = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    code = code.replace('"nightly"', '"stepped"')  # Other tests of this host have a "nightly".
    with host.client() as client:
        made = client.post("/api/v1/agents", json={"slug": "stepped", "kind": "external"})
        assert made.status_code == 201, made.text
    done = subprocess.run(
        [sys.executable, "-c", code + STEPS], capture_output=True, text=True, timeout=120,
        env={**os.environ, "AGUI_URL": host.url, "AGUI_KEY": host.key},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    assert host.run(run)["status"] == "succeeded"
    log = [frame["event"] for frame in host.events(run)]
    assert [event["delta"] for event in log if "delta" in event] == ["a: 7 rows", "b: 7 rows"]
