"""No attack holds up an event loop: the callbacks of web and worker, by their processor time."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agui_host.embedded import supervisor
from tests.acceptance.host import ROOT, Host
from tests.soak.attacks import SEED
from tests.soak.cost.clock import slowness

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MOST = 0.05
"""Seconds of a callback, where ``python3 -m timeit 'sum(range(100000))'`` says 1 ms."""
EACH, FIRST = 4.0, 1.0
"""The most seconds of one attack; and at first, when modules are imported that were not needed."""


class TimedHost(Host):
    """A host whose web process and worker note their callbacks, and no other process."""

    @property
    def notes(self) -> Path:
        """The file with the notes."""
        return self.data / "notes"

    def spawn(self, job: supervisor.Job, **settings: str) -> None:
        timed = {"PYTHONPATH": str(ROOT / "tests/acceptance/timed"), "LOOP_NOTES": str(self.notes)}
        super().spawn(job, **timed, **settings)


@pytest.fixture
def host(data_dir: Path) -> Iterator[TimedHost]:
    host = TimedHost(data_dir, AGUI_LIMIT_RUNS_PER_MINUTE="0", AGUI_OUTBOUND_ALLOW="127.0.0.1")
    try:
        host.start()
        host.python(SEED)
        yield host
    finally:
        host.stop()


def test_no_callback_is_long(host: TimedHost) -> None:
    notes = host.notes
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
    """The attackers in a process of their own; their answers, and how slow the machine became."""
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
    return answers, max(speeds)


def _read(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in notes.read_text().splitlines()]
