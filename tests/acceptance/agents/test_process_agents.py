"""Command lines in a real worker: the documented example, and the ends that only a worker gives."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agui_host.embedded.child import alive
from tests.acceptance.host import KEY, ROOT, Host, wait_for
from tests.runtimes.processing import RECORDED

EXAMPLE = ROOT / "docs" / "examples" / "command-line" / "README.md"
BLOCKS = re.findall(r"^```sh example\n(.*?)^```$", EXAMPLE.read_text(), re.MULTILINE | re.DOTALL)
CLI = """#!{python}
import os, sys
print("called", sys.argv[1:], sys.stdin.read(), {key} in os.environ, file=sys.stderr)
print(open({session!r}).read(), end="")
"""


def scripted(folder: Path, name: str, key: str) -> None:
    """A command of that name that plays its recorded session (recorded/README.md)."""
    session = str(RECORDED / f"{name}.jsonl")
    (folder / name).write_text(CLI.format(python=sys.executable, key=repr(key), session=session))
    (folder / name).chmod(0o755)


def test_the_example(new_host: Callable[..., Host], tmp_path: Path) -> None:
    scripted(tmp_path, "claude", "ANTHROPIC_API_KEY")
    scripted(tmp_path, "codex", "CODEX_API_KEY")
    keys = {"ANTHROPIC_API_KEY": "key-of-claude", "CODEX_API_KEY": "key-of-codex"}
    host = new_host(PATH=f"{tmp_path}:{os.environ['PATH']}", **keys)
    texts = []
    for block in BLOCKS:
        text = block.replace("http://127.0.0.1:8000", host.url)
        text = text.replace(".venv/bin/python", shlex.quote(sys.executable))
        # The recorded tools lie in /tmp, which a confined command does not see.
        text = text.replace("--kind process", "--kind process --unconfined")
        done = subprocess.run(
            ["bash", "-euc", text], cwd=ROOT, env={**host.env, "AGUI_KEY": KEY},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    created, first, later = texts
    assert created.count("created: ") == 2
    assert "RUN_FINISHED" in first
    assert "five words." in first
    assert "called ['-p'" in first
    assert "How many words are in notes.txt? True" in first
    assert "--resume=20b940b2-99d1-488e-951c-d8e13716dbe9" in later
    assert "And how many lines? True" in later
    assert "called ['exec', '--json'" in later
    assert later.count("RUN_FINISHED") == 2


def agent(host: Host, body: str, **fields: object) -> None:
    """An agent ``cli`` whose command is that Python script."""
    argv = [sys.executable, "-c", body]
    settings = {"argv": argv, "limits": {"grace_seconds": 0.5}, "unconfined": True}
    host.python(
        "from agui_host.runtimes.models import Agent; from agui_host.teams.models import Team; "
        "Agent.objects.create("
        "team=Team.objects.get(slug='demo'), slug='cli', name='x', kind='process', "
        f"settings={settings!r}, "
        f"**{fields!r})"
    )


def pid_of(host: Host, run_id: str) -> int:
    """The process id that the command of the run has printed."""

    def pids() -> list[int]:
        deltas = (item["event"].get("delta", "") for item in host.events(run_id))
        return [int(delta) for delta in deltas if delta.strip().isdigit()]

    wait_for(pids, "the command to say its process id")
    return pids()[0]


HANG = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(3600)
"""


def test_hanging_and_cancelled_commands_end(tough_host: Host) -> None:
    host = tough_host
    agent(host, HANG, timeout_seconds=3)
    run = host.begin("cli")
    pid = pid_of(host, run["id"])
    assert host.wait_status(run["id"], "failed")["error"]["code"] == "timeout"
    assert not alive(pid)
    run = host.begin("cli")
    pid = pid_of(host, run["id"])
    with host.client() as client:
        assert client.post(f"/api/v1/runs/{run['id']}/cancel").is_success
    host.wait_status(run["id"], "cancelled")
    wait_for(lambda: not alive(pid), "the cancelled command to be gone")


@pytest.mark.slow
def test_commands_die_with_a_killed_worker(new_host: Callable[..., Host]) -> None:
    host = new_host(AGUI_WORKER_LOST_AFTER="4", AGUI_HEARTBEAT="1", AGUI_REAP_EVERY="1")
    agent(host, HANG)
    run = host.begin("cli")
    pid = pid_of(host, run["id"])
    assert host.worker.process
    host.worker.process.kill()
    wait_for(lambda: not alive(pid), "the command of the killed worker to be gone")
    assert host.wait_status(run["id"], "failed")["error"]["code"] == "worker_lost"
    wait_for(lambda: not list(host.data.glob("processes/runs/*")), "its directory to be gone")
