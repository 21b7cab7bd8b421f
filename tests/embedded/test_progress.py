"""Nobody looks at a silent terminal: long steps are named, quick ones are not."""

import runpy
import sys
import threading
from pathlib import Path

import pytest

from agui_host.embedded.progress import SILENCE, Progress
from tests.house.repository import ROOT

SCRIPT = ROOT / "requirements" / "install.py"
# Says what pip says, and waits until the test has seen that something was printed meanwhile.
PIP = """
import pathlib, sys, time
print("Collecting one==1.0 (from -r x)", flush=True)
print("Collecting two==2.0 (from -r x)", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.02)
print("Installing collected packages: one, two", flush=True)
"""


def test_a_step_that_takes_long_is_named_and_counted() -> None:
    lines: list[str] = []
    heard = threading.Semaphore(0)

    def say(text: str) -> None:
        lines.append(text)
        heard.release()

    with Progress(say, silence=0.05) as progress:
        progress.step("starting the engines")
        assert heard.acquire(timeout=30)
        assert heard.acquire(timeout=30)
        progress.end()
    assert lines[0] == "starting the engines …"
    assert lines[1].startswith("starting the engines … ")
    assert SILENCE < 3


def test_quick_steps_say_nothing() -> None:
    lines: list[str] = []
    with Progress(lines.append, silence=30) as progress:
        progress.step("starting the engines")
        progress.step("bringing the database up to date")
    assert lines == []


def test_an_installation_says_how_far_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install = runpy.run_path(str(SCRIPT))["install"]
    lock = tmp_path / "run.lock"
    lock.write_text("one==1.0 \\\n    --hash=x\ntwo==2.0 \\\n    --hash=y\nthree==3.0\n")
    log = tmp_path / "seen"
    messages: list[str] = []

    def say(text: str, flush: bool = False) -> None:
        messages.append(text)
        if "two" in text:
            log.touch()

    install.__globals__["print"] = say
    assert install(lock, [sys.executable, "-c", PIP, str(log)], every=0.05) == 0
    assert any(line.startswith("  2 of 3: downloading two, ") for line in messages), messages


def test_an_installation_that_fails_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install = runpy.run_path(str(SCRIPT))["install"]
    (tmp_path / "run.lock").touch()
    fails = (
        "print('WARNING: an index is slow\\nERROR: no matching distribution'); raise SystemExit(1)"
    )
    code = install(tmp_path / "run.lock", [sys.executable, "-c", fails])
    assert code == 1
    assert "ERROR: no matching distribution" in capsys.readouterr().err
