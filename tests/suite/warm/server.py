"""A process that has imported other people's packages, and becomes a process of a host by ``fork``.

    python -m tests.suite.warm.server DESCRIPTOR

Half of the processor time in which a web process or a worker starts goes into packages that are the
same for every setting. None of them has read a setting or started a thread, and no module of ours
is among them: those are imported by the copy, in the environment and folder of its own. Requests
and answers go over the socket with this descriptor; see ``client``.
"""

import array
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

PR_SET_PDEATHSIG = 1
LONGEST = 1 << 17
PACKAGES = """
ag_ui.core channels.generic.http channels.routing channels_redis.pubsub cronsim cryptography.fernet
cryptography.x509 django.contrib.postgres.search django.core.cache.backends.redis
django.core.handlers.asgi django.core.mail django.core.management django.db.backends.postgresql.base
django.db.models django.forms django.template.backends.django django.urls django.utils.autoreload
django.views.generic environ fido2.server granian.cli granian.server h11 httpcore httpx
jsonschema_rs jwt markdown_it multiprocessing.pool orjson procrastinate prometheus_client psycopg
psycopg_pool pydantic rapidfuzz re2 redis.asyncio requests structlog uritemplate uuid6 uvloop yaml
zstandard
""".split()  # noqa: SIM905


@dataclass
class Start:
    """A module to run as ``python -m`` does, in a process of its own."""

    module: str
    arguments: list[str]
    env: dict[str, str]
    folder: str
    death: int
    """The signal that it gets when this process dies."""

    def become(self, parent: int, outputs: list[int]) -> None:
        """Make this process, a copy, look like one that has just been started."""
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, self.death, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        for number, output in zip((1, 2), outputs, strict=True):
            os.dup2(output, number)
            os.close(output)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.env)
        time.tzset()
        sys.path[0] = self.folder
        sys.argv[1:] = self.arguments


def load() -> None:
    """Import the packages, and make sure that a copy can still become anything."""
    for name in PACKAGES:
        importlib.import_module(name)
    from django.conf import settings

    assert not settings.configured, "a package has read settings, which differ between hosts"
    assert threading.active_count() == 1, "a package has started a thread, which no copy has"
    gc.collect()
    gc.freeze()  # or the copies would write to all pages


def serve(requests: socket.socket) -> tuple[Start, list[int], int] | None:
    """Answer until the other end closes; returns in each copy, with what it shall become."""
    while True:
        text, descriptors = _receive(requests)
        if not text:
            return None
        request = json.loads(text)
        if "wait" in request:
            answer = _ended(request["wait"])
        else:
            ours = os.getpid()
            pid = os.fork()
            if pid == 0:
                requests.close()
                return Start(**request), descriptors, ours
            for each in descriptors:
                os.close(each)
            answer = {"pid": pid}
        requests.sendall(json.dumps(answer).encode())


def _receive(requests: socket.socket) -> tuple[bytes, list[int]]:
    text, control, *_ = requests.recvmsg(LONGEST, socket.CMSG_SPACE(2 * 4))
    descriptors = array.array("i")
    for *_, data in control:
        descriptors.frombytes(data)
    return text, list(descriptors)


def _ended(pid: int) -> dict[str, Any]:
    """Its exit status as ``subprocess`` has it and its processor time, once it has ended."""
    done, status, used = os.wait4(pid, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status) if done else None
    return {"code": code, "cpu": used.ru_utime + used.ru_stime}


def main(descriptor: int) -> Start | None:
    """Serve; None at the end of the tests, and in a copy the module that it has to run."""
    # The tests' end is the end of the socket; copies get the handlers that this process was given.
    handlers = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)
    }
    load()
    work = serve(socket.socket(fileno=descriptor))
    if work is None:
        return None
    for number, handler in handlers.items():
        signal.signal(number, handler)
    start, outputs, parent = work
    start.become(parent, outputs)
    return start


if __name__ == "__main__":
    if start := main(int(sys.argv[1])):
        # Here, so that it ends as any program does: exit codes, tracebacks, threads, ``atexit``.
        runpy.run_module(start.module, run_name="__main__", alter_sys=True)
