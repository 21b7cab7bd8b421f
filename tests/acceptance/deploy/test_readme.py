"""Every example of README.md and docs/ that is marked as tested runs against a real host.

The mark is the second word behind the fence: ``tested`` for commands and clients, ``agent`` for a
module of agents, whose first line names its file.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.acceptance.host import ROOT, Host
from tests.conformance.node import ready_packages, run_node
from tests.conftest import own_host

FENCE = re.compile(r"^```(\w+) (tested|agent)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"


class Block(NamedTuple):
    """One example and where it stands."""

    page: str
    number: int
    language: str
    mark: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}-{self.number}-{self.language}"


def blocks() -> Iterator[Block]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, fence in enumerate(FENCE.findall(page.read_text("utf-8")), 1):
            yield Block(str(page.relative_to(ROOT)), number, *fence)


TESTED = [block for block in blocks() if block.mark == "tested"]
AGENTS = [block for block in blocks() if block.mark == "agent"]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host as a reader of the pages has it: with the agents that they show."""
    folder = tmp_path_factory.mktemp("agents")
    modules = []
    for block in AGENTS:
        name = re.match(r"# (\w+)\.py\n", block.text)
        assert name, f"{block.name} must begin with the name of its file"
        (folder / f"{name[1]}.py").write_text(block.text)
        modules.append(name[1])
    with own_host(PYTHONPATH=str(folder), AGUI_AGENT_MODULES=",".join(modules)) as host:
        yield host


def test_the_readme_has_an_example_of_each_kind() -> None:
    languages = {block.language for block in TESTED if block.page == "README.md"}
    assert languages == {"sh", "js", "python"}
    assert [block.page for block in AGENTS] == ["README.md"]


@pytest.mark.parametrize("block", TESTED, ids=lambda block: block.name)
def test_example(
    block: Block, reader: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_KEY", reader.key)
    done = RUNNERS[block.language](block.text.replace(ADDRESS, reader.url), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert '"error":{' not in done.stdout
    if "What is a journal?" in block.text:
        assert "journal" in done.stdout.replace("What is a journal?", "").lower()


def in_shell(text: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    if shutil.which("curl") is None:
        stand_in = folder / "curl"
        stand_in.write_text(
            f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/acceptance/deploy/curl_like.py "$@"\n'
        )
        stand_in.chmod(0o755)
    path = os.pathsep.join([os.environ["PATH"], str(folder)])
    return finished(["sh", "-eu", "-c", text], os.environ | {"PATH": path})


def in_python(text: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    # In a folder of its own: an example must not need the host's code.
    (folder / "example.py").write_text(text)
    return finished([sys.executable, str(folder / "example.py")], os.environ)


def in_node(text: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    (folder / "node_modules").symlink_to(ready_packages() / "node_modules")
    (folder / "example.mjs").write_text(text)
    return run_node(["--experimental-websocket", "example.mjs"], cwd=folder)


def finished(
    command: list[str], env: "os._Environ[str] | dict[str, str]"
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


RUNNERS = {"sh": in_shell, "python": in_python, "js": in_node}
