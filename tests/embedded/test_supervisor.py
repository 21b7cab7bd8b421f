"""The supervisor with small processes in the place of web and worker."""

import errno
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from agui_host.embedded import child, ports, supervisor, systemd
from agui_host.embedded.liveness import Pulse
from agui_host.embedded.management.commands import up
from agui_host.embedded.supervisor import Job, Supervisor
from agui_host.embedded.watch import Watch, roots_of
from agui_host.runtimes.demo import Demo

# Appends a line to the file argv[1] at start and another one when it is asked to stop.
POLITE = """
import os, signal, sys
def say(text):
    with open(sys.argv[1], "a") as file:
        file.write(f"{sys.argv[2]} {text} {os.getpid()}\\n")
def end(*_):
    say("ended")
    sys.exit()
signal.signal(signal.SIGTERM, end)
say("started")
while True:
    signal.pause()
"""

# A supervisor of two such processes in a process of its own.
SUPERVISOR = f"""
import signal, sys
from agui_host.embedded.liveness import Pulse
from agui_host.embedded.supervisor import Job, Supervisor
jobs = [
    Job(name, [sys.executable, "-c", {POLITE!r}, sys.argv[1], name], signal.SIGTERM, 5.0)
    for name in ("worker", "web")
]
supervisor = Supervisor(jobs, lambda text: print(text, flush=True))
supervisor.listen()
supervisor.start()
supervisor.run()
supervisor.stop()
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    path.touch()
    return path


def job(name: str, journal: Path, grace: float = 5.0) -> Job:
    command = [sys.executable, "-c", POLITE, str(journal), name]
    return Job(name, command, signal.SIGTERM, grace)


def lines(journal: Path, word: str) -> list[list[str]]:
    return [line.split() for line in journal.read_text().splitlines() if word in line]


def eventually(done: Callable[[], bool], run: Callable[[], None] = lambda: None) -> None:
    def tried() -> bool:
        run()
        return done()

    assert child.wait_until(tried, 20), "it did not happen within 20 s"


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def pair(journal: Path, messages: list[str]) -> Iterator[Supervisor]:
    """A supervisor of a worker and a web process, both up."""
    pair = Supervisor([job("worker", journal), job("web", journal)], messages.append)
    pair.start()
    eventually(lambda: len(lines(journal, "started")) == 2)
    yield pair
    pair.stop()


def test_jobs_end_in_their_order(pair: Supervisor, journal: Path) -> None:
    pair.stop()
    assert [name for name, *_ in lines(journal, "ended")] == ["worker", "web"]


def test_a_job_that_dies_is_started_again(
    pair: Supervisor, journal: Path, messages: list[str]
) -> None:
    web = pair.jobs[1].process
    assert web is not None
    web.kill()
    eventually(lambda: len(lines(journal, "web started")) == 2, pair.run_once)
    assert messages == ["web ended (signal 9); starting it again"]
    assert len(lines(journal, "worker started")) == 1


def test_a_job_that_dies_at_once_is_started_less_and_less_often(messages: list[str]) -> None:
    crashing = Job("web", [sys.executable, "-c", "raise SystemExit(3)"], signal.SIGKILL, 1.0)
    supervised = Supervisor([crashing], messages.append)
    supervised.start()
    eventually(lambda: len(messages) == 3, supervised.run_once)
    assert crashing.pause == supervisor.FIRST_PAUSE * 8
    assert supervisor.LONGEST_PAUSE < 5
    assert messages[0] == "web ended (exit code 3); starting it again"
    supervised.stop()


@pytest.mark.parametrize("how", ["died", "stopped"])
def test_what_a_job_left_behind_is_removed(tmp_path: Path, messages: list[str], how: str) -> None:
    # As granian does: the main process dies, the one that it started holds the port.
    code = (
        "import pathlib, subprocess, sys;"
        "p = subprocess.Popen(['sleep', '600']);"
        "pathlib.Path(sys.argv[1]).write_text(str(p.pid)); p.wait()"
    )
    note = tmp_path / "pid"
    parent = Job("web", [sys.executable, "-c", code, str(note)], signal.SIGKILL, 1.0)
    supervised = Supervisor([parent], messages.append)
    supervised.start()
    eventually(lambda: note.exists() and note.read_text() != "")
    orphan = int(note.read_text())
    if how == "died":
        parent.kill()
        eventually(lambda: bool(messages), supervised.run_once)
    else:
        supervised.stop()
    eventually(lambda: not child.alive(orphan))
    supervised.stop()


def test_dead_engines_are_named_and_changed_code_restarts_all(journal: Path) -> None:
    messages: list[str] = []
    changes = iter(["a.py"])
    supervised = Supervisor(
        [job("web", journal)],
        messages.append,
        revive=lambda: ["valkey had stopped; started it again"] if not messages else [],
        changed=lambda: next(changes, None),
    )
    supervised.start()
    eventually(lambda: len(lines(journal, "started")) == 1)
    supervised.run_once()
    eventually(lambda: len(lines(journal, "started")) == 2)
    assert messages == ["valkey had stopped; started it again", "a.py changed; starting again"]
    assert len(lines(journal, "ended")) == 1
    supervised.stop()


def test_a_job_that_does_not_listen_is_killed_after_its_grace(tmp_path: Path) -> None:
    code = (
        "import pathlib, signal, sys; signal.signal(15, signal.SIG_IGN);"
        "pathlib.Path(sys.argv[1]).touch(); signal.pause()"
    )
    ready = tmp_path / "ready"
    deaf = Job("worker", [sys.executable, "-c", code, str(ready)], signal.SIGTERM, 0.1)
    deaf.start(dict(os.environ))
    eventually(ready.exists)
    process = deaf.process
    deaf.stop()
    assert process is not None
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def apart(journal: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor in a process of its own, with both children up."""
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(journal)], cwd=supervisor.ROOT
    ) as process:
        eventually(lambda: len(lines(journal, "started")) == 2)
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_in_order(
    apart: subprocess.Popen[bytes], journal: Path, number: signal.Signals
) -> None:
    apart.send_signal(number)
    assert apart.wait(20) == 0
    assert [name for name, *_ in lines(journal, "ended")] == ["worker", "web"]


def test_a_killed_supervisor_leaves_no_process(
    apart: subprocess.Popen[bytes], journal: Path
) -> None:
    apart.kill()
    apart.wait()
    for _, _, pid in lines(journal, "started"):
        eventually(lambda pid=int(pid): not child.alive(pid))  # type: ignore[misc]


def test_ctrl_c_in_a_terminal_reaches_only_the_supervisor(
    apart: subprocess.Popen[bytes], journal: Path
) -> None:
    group = os.getpgid(apart.pid)
    assert all(os.getpgid(int(pid)) != group for _, _, pid in lines(journal, "started"))


def test_a_taken_port_is_refused_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "EXIT_SECONDS", 0.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ImproperlyConfigured, match=f"PORT: 127.0.0.1:{port} is taken"):
            ports.claim(port)
    with pytest.raises(ImproperlyConfigured, match=r"PORT: 192.0.2.1:1234 is .* not this machine"):
        ports.claim(1234, "192.0.2.1")
    assert ports.claim(0) > 0


@pytest.mark.parametrize("command", [["up"], ["supervise", "web"]])
@pytest.mark.parametrize("wrong", ["65536", "http", "-1", "8000/tcp"])
def test_a_flag_that_is_no_port_says_what_to_write(command: list[str], wrong: str) -> None:
    with pytest.raises(CommandError, match="is no port: write a number from 0 to 65535"):
        call_command(*command, f"--port={wrong}")


def test_the_demo_key_is_shown_on_every_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    reads: list[tuple[str | None, str | None]] = []

    def ensure_demo(api_key: str | None, password: str | None) -> Demo:
        reads.append((api_key, password))
        return Demo("demo", password or "secret", api_key or "k" * 40, created=api_key is None)

    monkeypatch.setattr(up, "ensure_demo", ensure_demo)
    settings.AGUI_DEMO_API_KEY = ""
    for _ in range(2):
        demo = up.prepare_demo(tmp_path)
        assert (demo.api_key, demo.password) == ("k" * 40, "secret")
    settings.AGUI_DEMO_API_KEY = "e" * 32
    assert up.prepare_demo(tmp_path).api_key == "e" * 32
    assert reads == [(None, None), ("k" * 40, "secret"), ("e" * 32, "secret")]
    for name in ("demo_api_key", "demo_password"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_the_watch_names_new_changed_and_removed_files(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    watch = Watch([tmp_path])
    assert watch.changed() is None
    file = tmp_path / "agent.py"
    file.write_text("a = 1\n")
    assert watch.changed() == str(file)
    os.utime(file, ns=(1, 1))
    assert watch.changed() == str(file)
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".venv" / "x.py").touch()
    assert watch.changed() is None
    file.unlink()
    assert watch.changed() == str(file)


def test_agent_modules_are_found_as_file_or_package() -> None:
    assert roots_of(
        ["runs.management", "agui_host.embedded.watch", "no_such_module", "no.such"]
    ) == [
        supervisor.ROOT / "runs" / "management",
        supervisor.ROOT / "agui_host" / "embedded" / "watch.py",
    ]


def test_children_find_the_modules_that_we_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"mine{os.pathsep}/abs")
    env = supervisor.environment(AGUI_DATA_DIR="/d")
    assert env["PYTHONPATH"].split(os.pathsep) == [os.path.abspath("mine"), "/abs"]
    assert env["AGUI_DATA_DIR"] == "/d"


# Beats for a moment, then holds its breath for ever; says where it hangs when asked.
HANGING = """
import faulthandler, os, signal, sys, time
faulthandler.register(signal.SIGQUIT)
pulse = int(sys.argv[sys.argv.index("--pulse") + 1])
def hanging():
    time.sleep(600)
os.write(pulse, b".")
if "once" in sys.argv:
    hanging()
while True:
    os.write(pulse, b".")
    time.sleep(0.1)
"""


def beating(*options: str) -> Job:
    command = [sys.executable, "-c", HANGING, *options]
    return Job("worker", command, signal.SIGTERM, 1.0, signs=Pulse)


def test_a_job_without_a_sign_of_life_is_killed_with_its_reason(
    messages: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    supervised = Supervisor([beating("once"), beating()], messages.append, liveness=0.6)
    supervised.start()
    hung, alive = (job.process for job in supervised.jobs)
    assert hung is not None
    eventually(lambda: bool(messages), supervised.run_once)
    (line,) = messages
    assert re.fullmatch(r"worker gave no sign of life for \d s and was killed; starting.*", line)
    assert hung.returncode == -signal.SIGKILL
    assert "in hanging" in capfd.readouterr().err
    eventually(lambda: supervised.jobs[0].process is not None, supervised.run_once)
    assert supervised.jobs[1].process is alive
    supervised.stop()


def test_a_start_may_take_long_and_a_supervisor_that_stood_still_kills_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = Job("worker", [sys.executable, "-c", "input()"], signal.SIGTERM, 1.0, signs=Pulse)
    assert job.listen(100.0) == 0.0, "it has not been started"
    monkeypatch.setattr(child, "spawn", lambda *_, **__: subprocess.Popen(["sleep", "600"]))
    job.start({})
    assert job.sign is not None
    assert job.listen(0.2) < -supervisor.START_UP + 1
    job.silence = 0.0
    assert job.listen(3600.0) == supervisor.LONGEST_LOOK
    monkeypatch.undo()
    job.stop()


def test_a_job_that_cannot_be_started_is_tried_again(
    messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    supervised = Supervisor([beating()], messages.append)
    supervised.start()
    supervised.jobs[0].kill()
    with monkeypatch.context() as patch:
        patch.setattr(child, "spawn", raise_memory)
        eventually(lambda: len(messages) == 2, supervised.run_once)
    assert messages[1] == "worker could not be started (Cannot allocate memory); trying again"
    eventually(lambda: supervised.jobs[0].process is not None, supervised.run_once)
    supervised.stop()


def raise_memory(*args: object, **kwargs: object) -> None:
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    def full(text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Supervisor([], full, revive=lambda: ["news"]).run_once()


def test_systemd_hears_when_every_job_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"agui-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind(f"\0{name}")
        wire.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        ready = systemd.readiness()
        assert "NOTIFY_SOCKET" not in os.environ, "no later child speaks for us"
        jobs = [Job(each, ["true"], signal.SIGTERM, 1.0) for each in ("web", "worker")]
        supervised = Supervisor(jobs, print, on_life=ready)
        jobs[0].lives = True
        monkeypatch.setattr(Supervisor, "_look", lambda *_: None)
        supervised.run_once()
        with pytest.raises(BlockingIOError):
            wire.recv(100)
        jobs[1].lives = True
        supervised.run_once()
        supervised.run_once()
        assert wire.recv(100) == b"READY=1"
        with pytest.raises(BlockingIOError):
            wire.recv(100)
    systemd.readiness()()  # nobody asked: nothing happens


def test_the_web_process_speaks_http_1_with_bounded_headers() -> None:
    command = supervisor.web(8000).command
    options = dict(itertools.pairwise(command))
    assert options["--http"] == "1"
    assert options["--http1-buffer-size"] == "32768"
    assert options["--http1-header-read-timeout"] == "60000", "idle connections end after it"
