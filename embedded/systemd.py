"""What systemd wants to hear from a service with ``Type=notify``."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress


def readiness() -> Callable[[], None]:
    """A call that says "ready", for which ``systemctl restart`` waits; it does nothing where
    systemd did not ask.

    The address leaves the environment: processes that are started later do not speak for us.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if address.startswith("@"):  # a name that is no file
        address = f"\0{address[1:]}"

    def ready() -> None:
        if address:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire, suppress(OSError):
                wire.sendto(b"READY=1", address)

    return ready
