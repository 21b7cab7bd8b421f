"""Where figures go: printed, and kept with the date and the size of the machine."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def keep(name: str, lines: Sequence[str], rows: Sequence[Any] = ()) -> None:
    """Print the lines; with ``BENCH_KEEP=1`` also write them to ``results/<date>-<name>.txt``.

    ``rows``, if there are any, are written beside it as JSON.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    now = datetime.now(UTC)
    machine = {
        "date": f"{now:%Y-%m-%d}", "cores": os.cpu_count(), "memory_gib": round(memory),
        "python": platform.python_version(), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    head = (
        f"{name}, {machine['date']}, {machine['cores']} cores, {memory:.0f} GiB,"
        f" Python {machine['python']}, load {machine['load']}"
    )
    if rows:
        machine |= {"commit": commit(), **calibration()}
        head += f", commit {machine['commit']}, JSON of {machine['json_per_second']:,}/s"
        head += f", fsync of {machine['fsync_ms']} ms"
    text = "\n".join([head, *lines]) + "\n"
    print(text, flush=True)
    if os.environ.get("BENCH_KEEP") == "1":
        RESULTS.mkdir(exist_ok=True)
        file = RESULTS / f"{now:%Y-%m-%d}-{name}.txt"
        file.write_text(text)
        if rows:
            document = {"benchmark": name, **machine, "rows": rows}
            file.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")


def commit() -> str:
    """The commit that is checked out, with a ``+`` if files differ from it; empty without git."""
    git = ["git", "-C", str(RESULTS.parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()


def calibration() -> dict[str, float]:
    """How fast this machine is at two things that every host does: JSON, and waiting for a disk."""
    value, began = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "word"}, time.time()
    for _ in range(100_000):
        json.loads(json.dumps(value))
    encoded = round(100_000 / (time.time() - began))
    RESULTS.mkdir(exist_ok=True)
    file, began = RESULTS / ".calibration", time.time()
    with file.open("wb") as disk:
        for _ in range(100):
            disk.write(b"x" * 512)
            disk.flush()
            os.fsync(disk.fileno())
    file.unlink()
    return {"json_per_second": encoded, "fsync_ms": round((time.time() - began) * 10, 2)}


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0..1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
