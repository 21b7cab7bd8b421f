"""Keeps the host's own secrets out of reach in a process that runs agents.

Settings read the environment once, at import. The kernel shows the block that a process was started
with (``/proc/PID/environ``), whatever it removes later, so the process also stops being dumpable:
then only root reads its environment or its memory.
"""

import ctypes
import os
import sys

PR_SET_DUMPABLE = 4
NAMES = (
    "DATABASE_DIRECT_URL", "DATABASE_REPLICA_URL", "DATABASE_URL", "EMAIL_URL",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "REDIS_URL", "SECRET_KEY", "SECRET_KEY_FALLBACKS",
)  # fmt: skip
OF_SETTINGS = (
    "AGUI_DATABASE_APP_PASSWORD", "AGUI_DEMO_API_KEY", "AGUI_LLM_API_KEY",
    "AGUI_METRICS_KEY", "AGUI_OIDC_CLIENT_SECRET", "AGUI_SECRETS_KEYS",
)  # fmt: skip


def belongs_to_host(name: str) -> bool:
    """Whether no command of an agent may get this variable."""
    return name in NAMES or name.startswith("AGUI_")


def forget() -> None:
    """Remove the secrets from ``os.environ``, so that children do not inherit them."""
    for name in (*NAMES, *OF_SETTINGS):
        os.environ.pop(name, None)


def hide() -> None:
    """Make this process not dumpable; ``exec`` undoes it, ``fork`` does not. Linux only."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
