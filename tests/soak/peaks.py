"""The memory of a supervised host's web and worker: the most that each was seen with."""

from contextlib import suppress
from pathlib import Path

from tests.acceptance.supervised import Supervised

LIMITS = {"web": 1_000, "worker": 2_000}
"""MB, as docker-compose.yml and the Kubernetes manifest limit them."""
WORDS = {"web": "granian", "worker": "run_worker"}
"""What the command lines of their processes hold."""


class Peaks:
    """``look`` now and then; ``most`` has the MB of each process with its children."""

    def __init__(self, host: Supervised) -> None:
        self.host = host
        self.most = dict.fromkeys(LIMITS, 0.0)

    def look(self) -> None:
        now = dict.fromkeys(LIMITS, 0.0)
        for pid, line in self.host.pids().items():
            for name, words in WORDS.items():
                if words in line:
                    now[name] += _resident(pid)
        self.most = {name: max(value, now[name]) for name, value in self.most.items()}

    @property
    def too_large(self) -> dict[str, float]:
        """Those that passed the limit that we ship."""
        return {name: most for name, most in self.most.items() if most > LIMITS[name]}


def _resident(pid: int) -> float:
    """MB of memory that a process holds; 0.0 for one that has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1_000
    return 0.0
