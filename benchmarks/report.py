"""Where figures go: printed, and kept with the date and the size of the machine."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def keep(name: str, lines: Sequence[str]) -> None:
    """Print the lines; with ``BENCH_KEEP=1`` also write them to ``results/<date>-<name>.txt``."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    now = datetime.now(UTC)
    head = (
        f"{name}, {now:%Y-%m-%d}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    text = "\n".join([head, *lines]) + "\n"
    print(text, flush=True)
    if os.environ.get("BENCH_KEEP") == "1":
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{now:%Y-%m-%d}-{name}.txt").write_text(text)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0..1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
