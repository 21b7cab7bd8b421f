"""The examples of docs/howto-python.md run, against a host."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.host import ROOT, Host

GUIDE = (Path(__file__).parents[2] / "docs" / "howto-python.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
SAID = [
    r"(?s).+\n.+",
    r"(?s).*[Jj]ournal.*",
    r"(?s)1 RUN_STARTED\n.*RUN_FINISHED\nsucceeded\n",
    r"",
    r"",
]


@pytest.mark.parametrize(("number", "output"), list(enumerate(SAID)))
def test_the_examples_run(host: Host, number: int, output: str) -> None:
    with host.client() as client:  # the agent of the run that is fed
        made = client.post("/api/v1/agents", json={"slug": "nightly", "kind": "external"})
        assert made.status_code in (201, 409), made.text
    env = {**os.environ, "AGUI_URL": host.url, "AGUI_KEY": host.key}
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[number]],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(output, done.stdout), done.stdout


def test_that_is_all_of_them() -> None:
    assert len(EXAMPLES) == len(SAID)
