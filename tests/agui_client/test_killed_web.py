"""One client process, one long run, and a web process that is killed again and again."""

import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import ROOT, Host, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PART, RATE = 1_000, 2_000


class Reader(threading.Thread):
    """What the client process prints."""

    def __init__(self, host: Host, transport: str, script: list[dict[str, Any]]) -> None:
        super().__init__(daemon=True)
        self.lines: list[str] = []
        arguments = [f"{host.url}/agui/agent/scripted/run", host.key, transport]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.agui_client.reader", *arguments],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdin
        with self.process.stdin as stdin:
            json.dump(script, stdin)
        self.start()

    def run(self) -> None:
        assert self.process.stdout
        with self.process.stdout as stdout:
            for line in stdout:
                self.lines.append(line.strip())


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("transport", ["sse", "websocket"])
def test_every_event_once_in_order(
    tough_host: Host, transport: str, kills: int, tmp_path: Path
) -> None:
    """1,000 deltas a part; in each the web dies, and the next one flows while it is dead."""
    host = tough_host
    gates = [tmp_path / f"gate{part}" for part in range(kills)]
    script: list[dict[str, Any]] = []
    for part, gate in enumerate(gates):
        script += [{"text": f"part{part}", "n": PART, "rate": RATE}, {"until": str(gate)}]
    reader, chance = Reader(host, transport, script), random.Random(1)
    try:
        for part, gate in enumerate(gates):
            target = part * PART + chance.randint(1, PART * 3 // 4)
            wait_for(lambda target=target: len(reader.lines) > target, f"event {target}")
            assert host.web.process
            host.web.process.kill()
            assert host.web.process.wait(20) == -signal.SIGKILL
            assert reader.process.poll() is None
            gate.touch()
            host.web.stop()
            host.spawn(host.web)
            host.wait_ready()
        wait_for(lambda: reader.process.poll() is not None, "the client's end")
        reader.join(10)
    finally:
        reader.process.kill()
        reader.process.wait()
    numbers = [f"part{part} {number}" for part in range(kills) for number in range(PART)]
    assert reader.lines == ["RUN_STARTED", *numbers, "RUN_FINISHED"]
    assert reader.process.returncode == 0
