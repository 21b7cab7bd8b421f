"""docs/examples/openai.md and mcp-client.md: the scripts run, and print what the pages say."""

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
