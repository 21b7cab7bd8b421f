"""The example of an image with your agents, as its Dockerfile builds it."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.house.repository import ROOT

FOLDER = ROOT / "deploy" / "your-agents"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
LIST = "from agui_host.runtimes import registry; print(*registry.all())"


def test_the_image_has_the_agents_and_no_rights(tmp_path: Path) -> None:
    copied = re.findall(r"^COPY (\S+) /agents/$", DOCKERFILE, re.MULTILINE)
    assert all((FOLDER / name).is_file() for name in copied)
    assert DOCKERFILE.rstrip().endswith("USER 10001:10001")
    (variables,) = re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)
    variables = variables.replace("PYTHONPATH=/agents", f"PYTHONPATH={FOLDER}")
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "AGUI_DATA_DIR": str(tmp_path),
    }
    env |= dict(variable.split("=", 1) for variable in variables.split())
    (step,) = re.findall(r"^RUN SECRET_KEY=(\S+) python manage.py check$", DOCKERFILE, re.M)
    for command in (["check"], ["shell", "-v0", "-c", LIST]):
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT, env=env | {"SECRET_KEY": step}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "support-desk" in done.stdout.split()


def test_the_extras_for_agents_are_those_of_the_project() -> None:
    """As comments: who needs one takes its line."""
    project = (ROOT / "pyproject.toml").read_text()
    for line in re.findall(r"^# (\S+[>=]\S+)$", (FOLDER / "requirements.txt").read_text(), re.M):
        assert f'"{line}"' in project, line
