"""The host's own secrets in a process that runs agents: out of its environment, out of reach.

Settings read the environment once, at import. What the kernel shows of a process
(``/proc/PID/environ``) is the block that it was started with, whatever it removes later, so the
process also stops being dumpable: then only root reads its environment or its memory.
"""

import ctypes
import os
import sys

PR_SET_DUMPABLE = 4
NAMES = ("DATABASE_URL", "EMAIL_URL", "REDIS_URL", "SECRET_KEY", "SECRET_KEY_FALLBACKS")
OF_SETTINGS = (
    "AGUI_DATABASE_APP_PASSWORD", "AGUI_DEMO_API_KEY", "AGUI_LLM_API_KEY",
    "AGUI_OIDC_CLIENT_SECRET", "AGUI_SECRETS_KEYS",
)  # fmt: skip


def belongs_to_host(name: str) -> bool:
    """Whether no command of an agent may get this variable."""
    return name in NAMES or name.startswith("AGUI_")


def forget() -> None:
    """Take the secrets out of ``os.environ``, and so from what children inherit."""
    for name in (*NAMES, *OF_SETTINGS):
        os.environ.pop(name, None)


def hide() -> None:
    """Make this process not dumpable; ``exec`` undoes it, ``fork`` does not. Linux only."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
