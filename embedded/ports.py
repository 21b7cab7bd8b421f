"""A check that a port is free: granian shares ports, so it would not notice another listener."""

import socket

from django.core.exceptions import ImproperlyConfigured

from embedded import child

EXIT_SECONDS = 2.0  # seconds that the web process of a killed start may need to exit


def claim(port: int, host: str = "127.0.0.1") -> int:
    """``port`` itself, or a free one for 0. Raises ImproperlyConfigured if it is taken."""
    if not child.wait_until(lambda: can_bind(port, host), EXIT_SECONDS):
        raise ImproperlyConfigured(
            f"PORT: {host}:{port} is taken, or not this machine's. Stop whatever listens there, or "
            f"choose another one: PORT={port % 65_535 + 1}, or --port {port % 65_535 + 1}."
        )
    if port:
        return port
    with _bound(0, host) as probe:
        return int(probe.getsockname()[1])


def can_bind(port: int, host: str = "127.0.0.1") -> bool:
    try:
        _bound(port, host).close()
    except (OSError, OverflowError):
        return False
    return True


def _bound(port: int, host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    probe = socket.socket(family)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
    except BaseException:
        probe.close()
        raise
    return probe
