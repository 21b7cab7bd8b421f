"""The ports of web processes, by which the doctor of the same machine finds them."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from agui_host.embedded import ports
from tests.house.repository import ROOT

ANNOUNCE = """
import os, sys
from pathlib import Path
from agui_host.embedded import ports
ports.announce(Path(sys.argv[1]), int(sys.argv[2]))
os.execv(sys.executable, [sys.executable, "-c", "print('become', flush=True); input()"])
"""


def test_a_port_is_known_until_its_process_ends(tmp_path: Path) -> None:
    """Also after the process has become another program, as ``supervise`` does."""
    with ExitStack() as stack:
        processes = []
        for port in (8002, 8001):
            command = [sys.executable, "-c", ANNOUNCE, str(tmp_path), str(port)]
            process = stack.enter_context(
                subprocess.Popen(
                    command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "become\n"
            processes.append(process)
        assert ports.announced(tmp_path) == [8001, 8002]
        processes[1].kill()
        processes[1].wait(10)
        assert ports.announced(tmp_path) == [8002]
    assert ports.announced(tmp_path) == []


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "links").write_text("a file")
    ports.announce(tmp_path, 8001)
    assert ports.announced(tmp_path) == []
