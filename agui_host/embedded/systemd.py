"""Informs systemd that a service with ``Type=notify`` is ready."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress


def readiness() -> Callable[[], None]:
    """A function that reports "ready", for which ``systemctl restart`` waits.

    It does nothing without systemd's request. The request's address leaves the environment:
    processes that are started later do not speak for us.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if address.startswith("@"):  # a name that is not a file
        address = f"\0{address[1:]}"

    def ready() -> None:
        if address:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire, suppress(OSError):
                wire.sendto(b"READY=1", address)

    return ready
