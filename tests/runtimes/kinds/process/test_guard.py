"""Hostile commands: each run ends once, in time, with its cause, and leaves nothing behind."""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from agui_host import RunContext
from agui_host.embedded.child import alive
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.kinds.process import guarded_command
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.kinds.process.runtime import ProcessRuntime
from tests.needs import need
from tests.runtimes.playing import run_input, text_of
from tests.runtimes.processing import Leftovers, process, script

GENTLE: dict[str, Any] = {"grace_seconds": 0.3}
QUICK = 60.0  # seconds in which every hostile run has ended, on a machine that does other things


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "AGUI_DATA_DIR", tmp_path)
    return tmp_path


async def hostile(body: str, **options: Any) -> tuple[str, str, list[dict[str, Any]], float]:
    """Code and message of the end of a hostile script, what it said, and how long it took."""
    left, before, events = Leftovers(), time.monotonic(), []
    runtime = ProcessRuntime(
        Command.of({"argv": script(body), "limits": GENTLE | options, "unconfined": True})
    )
    try:
        async with aclosing(runtime.run(RunContext(run_input("x")))) as stream:
            async for event in stream:
                events.append(event)
        end = events[-1] if events else {}
        code, message = end.get("code", ""), end.get("message", "")
    except RunFailed as failed:
        code, message = failed.reason.value, failed.message
    seconds = time.monotonic() - before
    left.gone(*(int(pid) for pid in text_of(events).split() if pid.isdigit()))
    assert list(settings.AGUI_DATA_DIR.glob("processes/runs/*")) == []
    assert seconds < QUICK
    return code, message, events, seconds


FORKS = """
    import os, signal, sys, time
    read, write = os.pipe()
    if os.fork() == 0:
        {before}
        os.write(write, b"%d" % os.getpid())
        time.sleep(3600)
    print(os.read(read, 20).decode(), flush=True)
    {after}
"""


@pytest.mark.parametrize(
    "before",
    [
        "pass",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "os.setsid()",
        "os.setsid()\n        if os.fork(): os._exit(0)",
        "os.setsid()\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "        if os.fork(): os._exit(0)",
    ],
    ids=["child", "stubborn", "session", "daemon", "stubborn daemon"],
)
async def test_a_child_that_keeps_stdout_open_ends_with_its_parent(before: str) -> None:
    code, _, events, _ = await hostile(FORKS.format(before=before, after=""))
    assert code == ""
    assert text_of(events).strip().isdigit()  # hostile() has looked: that process is gone


async def test_cancel_ends_a_command_that_ignores_term_and_its_children() -> None:
    body = FORKS.format(
        before="os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        after="signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)",
    )
    left, pids = Leftovers(), []
    runtime = ProcessRuntime(
        Command.of({"argv": script(body), "limits": GENTLE, "unconfined": True})
    )
    talking = asyncio.Event()

    async def read() -> None:
        async with aclosing(runtime.run(RunContext(run_input("x")))) as stream:
            async for event in stream:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    pids.append(int(event["delta"]))
                    talking.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(talking.wait(), QUICK)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, QUICK)
    left.gone(*pids)


async def test_a_gigabyte_is_cut_at_the_limit() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = """
        import os
        for _ in range(16 * 1024):
            os.write(1, (b"x" * 1023 + b"\\n") * 64)
    """
    code, message, events, _ = await hostile(body, output_bytes=4_000_000)
    assert (code, message) == ("limit", "The command printed more than 4,000,000 bytes.")
    assert 3_500_000 < len(text_of(events)) < 4_500_000
    # The test holds what was said; the runtime no more than a few chunks beside it.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


async def test_an_endless_line_is_cut_at_the_limit() -> None:
    code, message, _, _ = await hostile(
        "import os\nwhile True: os.write(1, b'x' * 65536)", line_bytes=1_000_000
    )
    assert (code, message) == ("limit", "The command printed a line of more than 1,000,000 bytes.")


async def test_binary_rubbish_is_named() -> None:
    body = "import os\nos.write(1, b'fine\\n')\nwhile True: os.write(1, os.urandom(4096))"
    code, message, events, _ = await hostile(body)
    assert code == "invalid_event"
    assert "not UTF-8 text" in message
    assert text_of(events) == "fine\n"


async def test_rubbish_on_stderr_is_only_odd() -> None:
    body = """
        import os
        os.write(2, os.urandom(100_000))
        print("fine")
    """
    code, _, events, _ = await hostile(body)
    assert (code, text_of(events)) == ("", "fine\n")


async def test_a_command_that_says_nothing_is_ended_by_whoever_waits() -> None:
    """The executor's timeout cancels the reader, as here; its code is ``timeout``."""
    left = Leftovers()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await process(script("import time; time.sleep(3600)"), limits=GENTLE)
    left.gone()


@pytest.mark.parametrize(
    ("body", "limits", "message"),
    [
        ("while True: pass", {"cpu_seconds": 1}, "1 seconds of CPU time"),
        (
            "import os\nfor _ in range(2): os.fork()\nwhile True: pass",
            {"cpu_seconds": 2}, "2 seconds of CPU time",
        ),
        (
            "import time\nx = bytearray(200_000_000)\ntime.sleep(3600)",
            {"memory_bytes": 100_000_000}, "100,000,000 bytes of memory",
        ),
        (
            "import os, time\nwhile True: os.fork(); time.sleep(0.1)",
            {"processes": 20}, "20 processes",
        ),
        (
            "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
            "open('big', 'wb').write(b'x' * 2_000_000)",
            {"file_bytes": 1_000_000}, "1,000,000 bytes in one file",
        ),
    ],
    ids=["cpu", "cpu of all", "memory", "fork bomb", "file"],
)  # fmt: skip
async def test_limits(body: str, limits: dict[str, Any], message: str) -> None:
    lines = body.replace("\n", "\n" + " " * 8)
    code, said_, _, _ = await hostile(
        "print('on', flush=True)\n" + lines.replace(" " * 8, ""), **limits
    )
    assert (code, said_) == ("limit", f"The command used more than {message}.")


async def test_kernel_limits_reach_the_command() -> None:
    events = await process(
        script("""
            import resource as r
            print(*(r.getrlimit(k)[0] for k in (r.RLIMIT_NOFILE, r.RLIMIT_AS, r.RLIMIT_CORE)))
        """),
        limits={"open_files": 77, "address_space_bytes": 1_000_000_000},
    )
    assert text_of(events) == "77 1000000000 0\n"


async def test_output_is_read_at_the_pace_of_the_reader(data: Path) -> None:
    """A reader that stands still stops the command where it prints."""
    body = """
        import os
        print("begin", flush=True)
        for count in range(1000):
            os.write(1, b"x" * 65535 + b"\\n")
            open("../home/count", "w").write(str(count))
    """
    runtime = ProcessRuntime(
        Command.of(
            {"argv": script(body), "directory": "thread", "limits": GENTLE, "unconfined": True}
        )
    )
    async with aclosing(runtime.run(RunContext(run_input("x")))) as stream:
        await anext(stream)
        previous, count = -1, 0
        while count != previous or not count:  # until it prints no more
            await asyncio.sleep(0.3)
            counts = list(data.glob("processes/threads/*/home/count"))
            previous, count = count, int(counts[0].read_text() or 0) if counts else 0
        assert count < 20


async def test_a_command_that_kills_its_guard_dies_with_it() -> None:
    body = """
        import os, signal, time
        print(os.getpid(), flush=True)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(3600)
    """
    code, message, _, _ = await hostile(body)
    assert (code, message) == ("process_exit", "The command lost its guard.")


async def test_an_argument_that_does_not_fit_is_a_limit() -> None:
    for text in ("x" * 200_000, "a\0b"):
        with pytest.raises(RunFailed, match="too long for a command line") as failed:
            await process([sys.executable, "--", "{text}"], run_input(text))
        assert failed.value.reason == RunErrorCode.LIMIT


async def test_what_cannot_be_started_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(guarded_command, "_spawn", refuse)
    left = Leftovers()
    with pytest.raises(RunFailed, match="could not be started: Resource temporarily") as failed:
        await process(["true"])
    await asyncio.sleep(0)  # transports close in the next turn of the loop
    await asyncio.sleep(0)
    left.gone()
    assert failed.value.reason == RunErrorCode.PROCESS_EXIT


async def test_nothing_outlives_a_worker_that_is_killed(data: Path) -> None:
    """``kill -9`` on the process that runs the agent: the guard notices and ends everything."""
    body = FORKS.format(before="os.setsid()", after="time.sleep(3600)")
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, str(data), json.dumps(script(body)),
        stdout=asyncio.subprocess.PIPE, env={"DJANGO_SETTINGS_MODULE": "agui_project.settings",
        "AGUI_DATA_DIR": str(data), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert worker.stdout
    pid = int(await asyncio.wait_for(worker.stdout.readline(), QUICK))
    assert alive(pid)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    async with asyncio.timeout(QUICK):
        while alive(pid) or list(data.glob("processes/runs/*")):
            await asyncio.sleep(0.05)


WORKER = """
import asyncio, json, sys
import django
from pathlib import Path
django.setup()
from agui_host import RunContext
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.kinds.process.runtime import ProcessRuntime

async def main():
    limits = {"grace_seconds": 0.3}
    settings = {"argv": json.loads(sys.argv[2]), "limits": limits, "unconfined": True}
    runtime = ProcessRuntime(Command.of(settings))
    async for event in runtime.run(RunContext({"threadId": "t", "runId": "r"})):
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            print(event["delta"], flush=True)

asyncio.run(main())
"""


async def test_runtimes_that_reserve_much_memory_fit_the_default_limits() -> None:
    argv = [str(need("node")), "-e", "console.log('from node')"]
    assert text_of(await process(argv)) == "from node\n"
