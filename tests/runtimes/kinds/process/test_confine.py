"""What a confined command cannot reach: the host's secrets, its processes, other runs."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError

from agui_host import RunContext
from agui_host.embedded import paths
from agui_host.embedded.child import alive, wait_until
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.kinds.process import confine
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.kinds.process.confine import Means
from agui_host.runtimes.kinds.process.place import Place
from agui_host.runtimes.kinds.process.runtime import ProcessRuntime
from agui_host.runtimes.models import Agent
from agui_host.security import own_secrets
from agui_host.teams.models import Team
from tests.needs import missing, need_root
from tests.runtimes.playing import run_input, text_of

PYTHON = "/usr/bin/python3"  # every uid may run it; ours may be in a home
QUICK = 60.0
SECRET = "of-the-worker-alone"
ROOT = os.geteuid() == 0

ATTEMPTS = """
    import ctypes, json, os, signal, socket, sys
    data, pid, endpoint, other = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]

    def trace():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(16, pid, None, None):
            raise OSError(ctypes.get_errno(), "ptrace")

    def environ():
        assert b"of-the-worker-alone" in open(f"/proc/{pid}/environ", "rb").read()

    attempts = {
        "secret_key": lambda: open(f"{data}/secret_key").read(),
        "data": lambda: os.listdir(f"{data}/processes/threads"),
        "plant": lambda: open(f"{data}/planted", "w").close(),
        "environ": environ,
        "memory": lambda: open(f"/proc/{pid}/mem", "rb").close(),
        "other run": lambda: open(f"{other}/work/notes").read(),
        "other run's session": lambda: open(f"{other}/session", "w").close(),
        "own session": lambda: open("../session", "w").close(),
        "socket": lambda: socket.socket(socket.AF_UNIX).connect(endpoint),
        "ptrace": trace,
        "kill": lambda: os.kill(pid, signal.SIGKILL),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError as error:
            outcome = "refused"
        else:
            outcome = "succeeded"
        print(json.dumps([name, outcome]), flush=True)
    open(os.path.expanduser("~/mine"), "w").write("x")
    open(os.environ["TMPDIR"] + "/mine", "w").write("x")
    open("mine", "w").write("x")
    print(json.dumps(["own directory", "succeeded"]))
"""


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data directory that other accounts may pass through, as the host makes it."""
    folder = Path(tempfile.mkdtemp(prefix="agui-confined-")).resolve()
    folder.chmod(0o711)
    monkeypatch.setattr(settings, "AGUI_DATA_DIR", folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=[Means.BUBBLEWRAP, Means.UID])
def means(request: pytest.FixtureRequest, data: Path, monkeypatch: pytest.MonkeyPatch) -> Means:
    """Each means that this machine has; found by trying, without the better one."""
    with monkeypatch.context() as patch:
        if request.param is Means.UID:
            patch.setattr(confine.shutil, "which", lambda name: None)
        ways = confine.means.__wrapped__(data)
    if ways is not request.param:
        missing(f"this machine cannot confine by {request.param}")
    monkeypatch.setattr(confine, "means", lambda data: ways)
    return ways


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process of the worker's account with a secret in its environment."""
    process = subprocess.Popen(["sleep", "300"], env={"SECRET_KEY": SECRET, "PATH": os.defpath})
    yield process.pid
    process.kill()
    process.wait()


def command(body: str, *arguments: str, **settings: Any) -> ProcessRuntime:
    argv = [PYTHON, "-c", textwrap.dedent(body), *arguments]
    return ProcessRuntime(Command.of({"argv": argv, "limits": {"grace_seconds": 2}, **settings}))


async def events(runtime: ProcessRuntime) -> list[dict[str, Any]]:
    async with aclosing(runtime.run(RunContext(run_input("x")))) as stream:
        return [event async for event in stream]


async def attempt(data: Path, pid: int, **settings: Any) -> dict[str, str]:
    """What each attempt of a hostile command came to."""
    paths.secret_key(data)
    other = Place.of_thread(data, "another", "team")
    (other.work / "notes").write_text("secret")
    if ROOT:
        other.give(confine.uid_of(other))
    paths.make_socket_dir(data, None)
    endpoint = paths.socket_dir(data) / "valkey"
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(str(endpoint))
            server.listen()
            arguments = (str(data), str(pid), str(endpoint), str(other.root))
            log = await events(command(ATTEMPTS, *arguments, **settings))
        finally:
            shutil.rmtree(endpoint.parent)
    return dict(json.loads(line) for line in text_of(log).splitlines())


async def test_a_hostile_command_reaches_nothing_of_the_host(
    means: Means, data: Path, bystander: int
) -> None:
    outcomes = await attempt(data, bystander)
    assert outcomes.pop("own directory") == "succeeded"
    assert len(outcomes) == 11  # each was tried
    assert set(outcomes.values()) == {"refused"}, outcomes
    assert alive(bystander)
    assert not (data / "planted").exists()


async def test_unconfined_the_same_attempts_succeed(data: Path, bystander: int) -> None:
    """So the refusals above are the confinement's."""
    need_root()  # for others the kernel may restrict ptrace
    outcomes = await attempt(data, bystander, unconfined=True)
    assert set(outcomes.values()) == {"succeeded"}, outcomes


def test_bubblewrap_needs_no_rights(data: Path) -> None:
    """As the image and the units run: no capabilities, none to be had, no new privileges."""
    need_root()  # to give all of it up
    if not shutil.which("bwrap"):
        missing("bubblewrap is not installed")
    place = Place.of_run(data)
    place.give(10001)
    without = [
        "setpriv", "--reuid=10001", "--regid=10001", "--clear-groups", "--bounding-set=-all",
        "--inh-caps=-all", "--no-new-privs",
    ]  # fmt: skip
    show = ["sh", "-c", "grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; touch mine"]
    words = [*without, *confine.bubblewrap(place, data), *show]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values = dict(line.split(":\t") for line in done.stdout.splitlines())
    assert (int(values["CapEff"], 16), values["NoNewPrivs"]) == (0, "1")
    assert (place.work / "mine").exists()


async def test_a_confined_command_has_its_worktree_to_itself(means: Means, data: Path) -> None:
    body = """
        import os, pathlib
        pathlib.Path("mine").write_text("x")
        print(os.getcwd().partition("/work/")[2], os.stat(".").st_uid == os.getuid())
    """
    request = run_input("x", forwardedProps={"alpine": {"worktreeDir": "wt/feature"}})
    async with aclosing(command(body).run(RunContext(request))) as stream:
        log = [event async for event in stream]
    assert text_of(log) == "wt/feature True\n"


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ("print('on', flush=True); raise SystemExit(3)", ("process_exit", "status 3.")),
        (
            "import os; print('on', flush=True); os.kill(os.getpid(), 11)",
            ("process_exit", "ended by SIGSEGV."),
        ),
        ("while True: pass", ("limit", "more than 1 seconds of CPU time.")),
    ],
    ids=["status", "signal", "cpu"],
)
async def test_a_confined_command_ends_as_any_other(
    means: Means, body: str, end: tuple[str, str]
) -> None:
    log: list[dict[str, Any]] = []
    try:
        log = await events(command(body, limits={"cpu_seconds": 1}))
        code, message = log[-1]["code"], log[-1]["message"]
    except RunFailed as failed:
        code, message = failed.reason.value, failed.message
    assert code == end[0]
    assert message.endswith(end[1])


async def test_a_program_that_is_not_there_is_named_alike(means: Means) -> None:
    runtime = ProcessRuntime(Command.of({"argv": ["/nowhere/tool"]}))
    assert (await events(runtime))[-1]["message"] == (
        "The program 'tool' is not on the worker's PATH, or is not executable."
    )


STUBBORN = """
    import os, pathlib, signal, sys, time
    def leave(*_):
        pathlib.Path(os.environ["HOME"], "left").write_text("TERM")
        sys.exit()
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execvp("sleep", ["sleep", sys.argv[1]])
    signal.signal(signal.SIGTERM, leave)
    print("on", flush=True)
    time.sleep(3600)
"""


async def test_a_cancel_asks_first_and_leaves_nothing(means: Means, data: Path) -> None:
    marker = f"3600.{os.getpid()}"
    runtime = command(STUBBORN, marker, directory="thread", limits={"grace_seconds": 1})
    async with asyncio.timeout(QUICK), aclosing(runtime.run(RunContext(run_input("x")))) as stream:
        async for event in stream:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                break
        assert wait_until(lambda: sleepers(marker) != [], 10)
    assert [path.read_text() for path in data.glob("processes/threads/*/home/left")] == ["TERM"]
    assert wait_until(lambda: not sleepers(marker), 10)


def sleepers(marker: str) -> list[int]:
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes().split(b"\0")[:2] == [b"sleep", marker.encode()]:
                pids.append(int(path.parent.name))
    return pids


@pytest.mark.django_db
def test_without_any_means_an_operator_has_to_say_so(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confine.shutil, "which", lambda name: None)
    monkeypatch.setattr(confine.os, "geteuid", lambda: 1000)
    team = Team.objects.create(slug="acme", name="Acme")
    agent = Agent(team=team, slug="cli", name="CLI", kind="process", settings={"argv": ["true"]})
    with pytest.raises(ValidationError, match="say --unconfined"):
        agent.full_clean()
    agent.settings["unconfined"] = True
    agent.full_clean()


async def test_without_any_means_a_stored_agent_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confine, "means", lambda data: Means.NONE)
    with pytest.raises(RunFailed, match="cannot confine") as failed:
        await events(command("print('ran')"))
    assert failed.value.reason == RunErrorCode.AGENT_ERROR
    assert list(data.glob("processes/runs/*")) == []
    assert text_of(await events(command("print('ran')", unconfined=True))) == "ran\n"


@pytest.mark.parametrize("hidden", [True, False])
def test_nobody_of_the_same_account_reads_a_hidden_process(hidden: bool) -> None:
    """A worker's environment, from an unconfined command of its own uid."""
    need_root()
    source = Path(own_secrets.__file__).read_text() + "\nforget()\n" + "hide()\n" * hidden
    tail = "print('SECRET_KEY' in os.environ, flush=True)\nsys.stdin.read()"
    worker = subprocess.Popen(
        [PYTHON, "-c", source + tail], user=65534, group=65534, cwd="/", text=True,
        env={"SECRET_KEY": SECRET}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert worker.stdout
        assert worker.stdout.readline() == "False\n"
        reader = subprocess.run(
            ["/bin/cat", f"/proc/{worker.pid}/environ"], user=65534, group=65534, cwd="/",
            capture_output=True, check=False,
        )  # fmt: skip
    finally:
        worker.communicate()
    assert (SECRET.encode() in reader.stdout) is not hidden
    assert (b"Permission denied" in reader.stderr) is hidden


def test_settings_secrets_leave_the_environment() -> None:
    show = (
        "import os; from agui_host.security import own_secrets as o; o.forget(); print(*os.environ)"
    )
    env = {"PATH": os.defpath, **dict.fromkeys((*own_secrets.NAMES, *own_secrets.OF_SETTINGS), "x")}
    done = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, check=True)
    assert not {*own_secrets.NAMES, *own_secrets.OF_SETTINGS} & set(done.stdout.decode().split())
