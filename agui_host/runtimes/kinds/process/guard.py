"""The guard: a small process between the worker and a command, so that no process is left behind.

    python -I -S guard.py FD LIMITS COMMAND…

It starts COMMAND in its own session under LIMITS, watches the use of resources by COMMAND and all
its descendants, and informs the worker over the socket FD, one JSON object a line: first
``{"pid"}``, last ``{"status"}``, ``{"signal"}``, ``{"limit"}`` or ``{"error"}``. When the socket
closes, because the run is over or because the worker died, however it died, the guard ends the
command: TERM to everything, ``grace`` seconds, then KILL. What COMMAND leaves behind when it exits
is ended in the same way.

On Linux the guard is the subreaper of its descendants: a process that forks twice or calls setsid
becomes our child rather than init's, so it is found. Only the standard library, and little of
it: there is one guard for every run of such an agent.
"""

import ctypes
import errno
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
WRAPPERS = 2  # bubblewrap outside of the sandbox, and its process 1 inside
LINUX = sys.platform.startswith("linux")
TICK = 0.25
LAST_WAIT = 5.0  # seconds for killed processes to disappear; only a sick kernel needs them
PAGE = os.sysconf("SC_PAGE_SIZE")
HERTZ = os.sysconf("SC_CLK_TCK")


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process where the kernel is Linux; nothing elsewhere."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class Guard:
    """One command and everything it starts."""

    def __init__(self, socket: int, limits: dict[str, Any]) -> None:
        os.set_inheritable(socket, False)  # otherwise the command could answer in our place
        self.socket = socket
        self.limits = limits
        self.wrapped = bool(limits.get("bubblewrap"))
        self.ended: int | None = None  # the command's wait status
        self.wakeup, write = os.pipe()
        for end in (self.wakeup, write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the socket ends the guard
        prctl(PR_SET_CHILD_SUBREAPER, 1)

    def tell(self, **message: object) -> None:
        """Report to the worker, which can be gone."""
        with suppress(OSError):
            os.write(self.socket, json.dumps(message).encode() + b"\n")

    def run(self, command: list[str]) -> None:
        """Start the command, watch it, end its remaining processes, and report how it ended."""
        failed = self.start(command)
        why = None if failed else self.watch()
        self.sweep(0.0 if why else self.limits["grace"])
        if directory := self.limits.get("remove"):
            shutil.rmtree(directory, ignore_errors=True)
        if failed:
            self.tell(error=f"could not be started: {failed}")
        elif why:
            self.tell(limit=why)
        elif self.ended is None:
            self.tell(error="was stopped")
        elif os.WIFSIGNALED(self.ended):
            number = os.WTERMSIG(self.ended)
            if number in (signal.SIGXCPU, signal.SIGXFSZ):
                self.tell(limit="cpu" if number == signal.SIGXCPU else "file")
            else:
                self.tell(signal=number)
        else:
            self.tell(status=os.WEXITSTATUS(self.ended))

    def start(self, command: list[str]) -> str:
        """Fork and exec; the error, or an empty string."""
        # Bubblewrap would report this too, but on stderr, as if it were the command.
        if self.wrapped and not shutil.which(command[command.index("--") + 1]):
            return os.strerror(errno.ENOENT)
        failed, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.become(command)
            except (OSError, ValueError) as error:
                os.write(tell, (getattr(error, "strerror", None) or str(error)).encode())
            os._exit(127)
        os.close(tell)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        problem = os.read(failed, 500).decode(errors="replace")
        if not problem:
            self.tell(pid=self.pid)
        return problem

    def become(self, command: list[str]) -> None:
        """In the child: a new session, the limits, then the command."""
        os.setsid()
        if (uid := self.limits.get("uid")) is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            prctl(PR_SET_NO_NEW_PRIVS, 1)
        # After the change of user, which clears the death signal.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (
            signal.SIGCHLD,
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGPIPE,
        ):
            signal.signal(number, signal.SIG_DFL)
        for name, key in (
            ("RLIMIT_CPU", "cpu"),
            ("RLIMIT_AS", "address_space"),
            ("RLIMIT_FSIZE", "file"),
            ("RLIMIT_NOFILE", "open_files"),
        ):
            if key in self.limits:
                restrict(name, int(self.limits[key]))
        restrict("RLIMIT_CORE", 0)
        os.execvp(command[0], command)  # noqa: S606

    def watch(self) -> str | None:
        """Wait until the command ends, the socket closes or a limit is passed; which limit."""
        waiting: list[int] = [self.socket, self.wakeup]
        while True:
            ready = select.select(waiting, [], [], TICK)[0]
            if self.wakeup in ready:
                os.read(self.wakeup, 4096)
            self.reap()
            if self.ended is not None:
                return None
            if self.socket in ready:
                with suppress(OSError):
                    if os.read(self.socket, 64):
                        continue
                return None
            if why := self.passed():
                return why

    def reap(self) -> bool:
        """Reap ended processes; False if none is left."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.pid:
                    self.ended = unwrapped(status) if self.wrapped else status
        return False

    def passed(self) -> str | None:
        """The limit that the command and its descendants, together, have passed."""
        if not LINUX:
            return None
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, memory, pids = used.ru_utime + used.ru_stime, 0, descendants(os.getpid())
        for pid in pids:
            with suppress(OSError, IndexError):
                with open(f"/proc/{pid}/stat") as file:
                    stat = file.read().rpartition(")")[2].split()
                cpu += sum(map(int, stat[11:15])) / HERTZ
                memory += int(stat[21]) * PAGE
        count = len(pids) - (WRAPPERS if self.wrapped else 0)
        for name, value in (("cpu", cpu), ("memory", memory), ("processes", count)):
            if value > self.limits[name]:
                return name
        return None

    def sweep(self, grace: float) -> None:
        """End all processes: TERM, ``grace`` seconds, then KILL until none is left."""
        if grace > 0:
            self.send(signal.SIGTERM)
            self.wait(grace)
        end = time.monotonic() + LAST_WAIT
        while self.reap() and time.monotonic() < end:
            # Stopped first: a stopped process cannot fork while the others are being killed.
            self.send(signal.SIGSTOP)
            self.send(signal.SIGKILL)
            self.wait(0.05)

    def send(self, number: int) -> None:
        """Signal every process below this one."""
        if not LINUX:
            with suppress(OSError):
                os.killpg(self.pid, number)
        for pid in descendants(os.getpid()):
            # TERM to bubblewrap would end the command without its grace period.
            if not (self.wrapped and number == signal.SIGTERM and pid == self.pid):
                with suppress(OSError):
                    os.kill(pid, number)

    def wait(self, seconds: float) -> None:
        """Reap for at most ``seconds``, or until no process is left."""
        end = time.monotonic() + seconds
        while self.reap() and (left := end - time.monotonic()) > 0:
            if select.select([self.wakeup], [], [], left)[0]:
                os.read(self.wakeup, 4096)


def unwrapped(status: int) -> int:
    """The wait status of a command from bubblewrap's, which exits with 128 + a signal."""
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
    return code - 128 if 128 < code < 128 + signal.NSIG else status


def restrict(name: str, value: int) -> None:
    """Set a limit of this process, or as much of it as the host itself may have."""
    kind = getattr(resource, name)
    most = resource.getrlimit(kind)[1]
    # SIGXCPU comes at the soft limit; at the hard one a silent KILL.
    hard = value + 1 if name == "RLIMIT_CPU" else value
    if most != resource.RLIM_INFINITY:
        value, hard = min(value, most), min(hard, most)
    resource.setrlimit(kind, (value, hard))


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``; none if there is no /proc."""
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        below = waiting.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{below}/task"):
                with open(f"/proc/{below}/task/{task}/children") as file:
                    children = [int(child) for child in file.read().split()]
                pids += children
                waiting += children
    return pids


if __name__ == "__main__":
    Guard(int(sys.argv[1]), json.loads(sys.argv[2])).run(sys.argv[3:])
