"""A copy of the warm process is what a process of its own would be, only sooner."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.host import wait_for
from tests.suite.warm import client

LOOK = [sys.executable, "-m", "tests.suite.warm.look"]
ENV = {"AGUI_DATA_DIR": "/elsewhere", "TZ": "Asia/Tokyo"}


@pytest.fixture
def server() -> Iterator[client.Server]:
    server = client.Server()
    yield server
    server.stop()


def env() -> dict[str, str]:
    return os.environ | ENV


def view(text: str) -> Any:
    first, _, rest = text.partition("\n")
    return {**json.loads(first), "rest": rest}


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("exit", 3), ("raise", 1)])
def test_it_is_and_ends_as_a_process_of_its_own(how: str, code: int) -> None:
    copied = client.run([*LOOK, how, "--more"], env=env(), cwd=client.ROOT, timeout=60)
    alone = subprocess.run(
        [*LOOK, how, "--more"], env=env(), cwd=client.ROOT, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, start_new_session=True, check=False, timeout=60,
    )  # fmt: skip
    assert copied.returncode == alone.returncode == code
    assert view(copied.stdout) == view(alone.stdout)
    assert view(copied.stdout)["rest"].splitlines() == ["in a thread", "at exit"]
    last = [done.stderr.splitlines()[-1] for done in (copied, alone)]
    assert last[0] == last[1], "a traceback ends with its error"
    assert ("on purpose" in copied.stderr) is (how == "raise")


def start(server: client.Server) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as out:
        process = server.spawn(
            [*LOOK, "wait"], death=signal.SIGTERM, env=env(), cwd=client.ROOT, outputs=(out, out)
        )
        wait_for(lambda: os.fstat(out.fileno()).st_size, "its first words")
        return process


def test_it_is_waited_for_and_gets_signals(server: client.Server) -> None:
    process = start(server)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait(10) == process.poll() == -signal.SIGKILL
    process.kill()  # no longer there; the number may be another's


def test_it_dies_with_the_process_that_it_is_a_copy_of(server: client.Server) -> None:
    number = os.pidfd_open(start(server).pid)
    server.process.kill()
    wait_for(lambda: is_gone(number), "its end")
    os.close(number)


def is_gone(descriptor: int) -> bool:
    try:
        signal.pidfd_send_signal(descriptor, 0)
    except ProcessLookupError:
        return True
    return False


def test_one_that_would_differ_is_started_by_itself(server: client.Server) -> None:
    assert server.can([*LOOK, "return"], env(), client.ROOT)
    assert not server.can([*LOOK, "return"], {**env(), "PYTHONPATH": "/other"}, client.ROOT)
    assert not server.can([*LOOK, "return"], env(), client.ROOT / "tests")
    assert not server.can(["/usr/bin/true"], env(), client.ROOT)
    away = {name: value for name, value in env().items() if name != "PATH"}
    assert not server.can([*LOOK, "return"], away, client.ROOT)
