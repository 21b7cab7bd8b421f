"""No attack holds up an event loop: the callbacks of web and worker, by their processor time."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import ROOT, Host
from tests.soak.attacks import SEED
from tests.soak.cost.clock import slowness

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MOST = 0.05
"""Seconds of a callback, where ``python3 -m timeit 'sum(range(100000))'`` says 1 ms."""
EACH, FIRST = 2.0, 0.3
"""The most seconds of one attack; and at first, when modules are imported that were not needed."""


def test_no_callback_is_long(new_host: Callable[..., Host], tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.touch()
    host = new_host(
        PYTHONPATH=str(ROOT / "tests/acceptance/timed"),
        LOOP_NOTES=str(notes),
        AGUI_LIMIT_RUNS_PER_MINUTE="0",
        AGUI_OUTBOUND_ALLOW="127.0.0.1",
    )
    host.python(SEED)
    _attacked(host, FIRST)
    before = len(_read(notes))
    answers, slow = _attacked(host, EACH)
    print(json.dumps(answers))
    assert all(answers.values()), "every attack took place"
    watched = _read(notes)
    assert {note["process"] for note in watched} == {"web", "worker"}
    limit = MOST * max(1.0, slow)
    long = [note for note in watched[before:] if note["seconds"] > limit]
    assert not long, f"{len(long)} of more than {limit:.3f} s: {long[:5]}"


def _attacked(host: Host, seconds: float) -> tuple[dict[str, dict[str, int]], float]:
    """The attackers in a process of their own; their answers, and how slow the machine was."""
    command = [sys.executable, "-m", "tests.soak.attacks", host.url, host.key, str(seconds), "each"]
    speeds: list[float] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as attackers:
        while attackers.poll() is None:
            speeds.append(slowness())
            with suppress(subprocess.TimeoutExpired):
                attackers.wait(2)
        assert attackers.returncode == 0
        assert attackers.stdout
        answers: dict[str, dict[str, int]] = json.load(attackers.stdout)
    return answers, statistics.median(speeds)


def _read(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in notes.read_text().splitlines()]
