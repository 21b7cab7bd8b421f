"""Starts a process that cannot outlive its starter, and recognises a process that did.

A child gets its own session, so that Ctrl-C reaches only the foreground process, and a death
signal: the kernel sends it when the starter dies, even by SIGKILL. Linux ties that signal to the
starting *thread*, so start children from the main thread or from a thread that lives as long.

This file is also the launcher between ``fork`` and the command (no ``preexec_fn``: it is unsafe
beside threads), so it imports nothing but the standard library.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
POLL = 0.02


def spawn(
    command: Sequence[str],
    *,
    death: signal.Signals,
    user: tuple[int, int] | None = None,
    env: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    cwd: Path | str = "/",
    fds: Sequence[int] = (),
    private: bool = False,
) -> subprocess.Popen[bytes]:
    """Start ``command``; it receives ``death`` when this process dies.

    ``user`` is (uid, gid), only as root. ``log`` gets both outputs; without it the child shares
    ours. ``fds`` stay open in it, under the same numbers. ``private``: only the child's account
    can read the files that it makes.
    """
    uid, gid = user or (-1, -1)
    launcher = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(death))]
    return subprocess.Popen(  # noqa: S603  (our own command line)
        [*launcher, str(uid), str(gid), str(int(private)), *command],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=env,
        cwd=cwd,
        start_new_session=True,
        pass_fds=fds,
    )


def die_with_parent(death: int) -> bool:
    """Ask the kernel for ``death`` when the parent dies; False if it cannot do that."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death, 0, 0, 0) == 0)


def wait_until(done: Callable[[], bool], seconds: float) -> bool:
    """Poll ``done`` for at most ``seconds``; returns whether it became true."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True


def stop(process: subprocess.Popen[bytes], *steps: tuple[signal.Signals, float]) -> None:
    """Send each signal and wait its seconds until ``process`` is gone; reaps it."""
    for number, seconds in steps:
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)


def alive(pid: int) -> bool:
    """Whether a process with this id exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return not Path("/proc/self/stat").exists()
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def stands(pid: int) -> bool:
    """Whether a signal has stopped the process (SIGSTOP); False where the system cannot tell."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "T"


def runs(pid: int, marker: str) -> bool:
    """Whether ``pid`` is alive and its command line contains ``marker``.

    A pid alone proves nothing, since the number can belong to another process by now.
    """
    if not alive(pid):
        return False
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        line = subprocess.run(  # noqa: S603
            ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False
        ).stdout
    return marker in line.decode(errors="replace")


def _watch(parent: int, death: int) -> None:
    """If the kernel sends no death signal: a small process that checks twice a second."""
    engine = os.getpid()
    if os.fork():
        os.wait()
        return
    # The second fork makes init our parent: the engine must not have a child it does not know.
    if os.fork():
        os._exit(0)
    os.setsid()
    while alive(parent) and alive(engine):
        time.sleep(0.5)
    with contextlib.suppress(OSError):
        os.kill(engine, death)
    os._exit(0)


def _become(command: list[str], parent: int, death: int, uid: int, gid: int, private: int) -> None:
    if private:
        os.umask(0o077)
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # After the change of user, which clears the death signal.
    if not die_with_parent(death):
        _watch(parent, death)
    if os.getppid() != parent:
        sys.exit("its starter died first")
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    _become(sys.argv[6:], *map(int, sys.argv[1:6]))
