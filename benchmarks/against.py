"""The same benchmarks on this tree and on another commit, in turns, in one run.

``python -m benchmarks.against COMMIT [NAME …]`` unpacks the commit into a folder, runs each
benchmark in turns (other, this, other, this, …; ``BENCH_ROUNDS`` pairs) and prints for each of its
figures both medians, their ratio, and the least and the greatest ratio of a pair: what the machine
itself does to a figure. Both run with this environment's packages.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.report import keep

ROOT = Path(__file__).parent.parent
NAMES = ("append", "latency", "intake")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
FIGURE = re.compile(r"(\d[\d,]*\.?\d*)\s*(ms|µs|events/s|rows/s|runs/s|records|KB)\b")


def measure(tree: Path, name: str) -> dict[str, float]:
    """What one benchmark printed, by line: its first number that has a unit."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"],
        cwd=tree, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{name} failed in {tree.name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    figures: dict[str, float] = {}
    section = ""
    for line in done.stdout.splitlines():
        if match := FIGURE.search(line):
            label = line[: match.start()].strip()
            key = f"{section}: {label}" if re.match(r"\s+p\d\d|\s+max", line) else label
            figures[key] = float(match[1].replace(",", ""))
        else:
            section = line.split(",")[0].strip()
    return figures


def compare(other: Path, names: Sequence[str]) -> Iterator[str]:
    """One line per figure: the other commit's median, this tree's, and their ratio."""
    for name in names:
        before: dict[str, list[float]] = {}
        after: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for tree, collected in ((other, before), (ROOT, after)):
                for label, value in measure(tree, name).items():
                    collected.setdefault(label, []).append(value)
        yield f"{name}:"
        for label, values in after.items():
            if label in before:
                old, new = statistics.median(before[label]), statistics.median(values)
                pairs = [b / a for a, b in zip(before[label], values, strict=True)]
                spread = f"{min(pairs):.2f} to {max(pairs):.2f}"
                yield f"  {label:<56} {old:>10,.2f} {new:>10,.2f}  × {new / old:.2f}  ({spread})"


def checked_out(commit: str, folder: Path) -> Path:
    """The files of a commit in a new folder; the repository notes nothing about it."""
    git = ["git", "-C", str(ROOT), "archive", commit]
    files = subprocess.run(git, check=True, capture_output=True).stdout
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=files, check=True)
    return folder


def unpacked(commit: str, folder: Path) -> Path:
    """A commit's files with the benchmarks that are newer than it."""
    other = checked_out(commit, folder)
    for script in (ROOT / "benchmarks").rglob("*.py"):
        copy = other / script.relative_to(ROOT)
        if not copy.exists():  # newer than that commit, or shared by what is newer
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(script, copy)
    return other


def main() -> None:
    commit, names = sys.argv[1], sys.argv[2:] or NAMES
    with tempfile.TemporaryDirectory() as folder:
        lines = list(compare(unpacked(commit, Path(folder) / "other"), names))
    head = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    keep("against", [f"medians of {ROUNDS} in turns: {commit}, {head}, ratio", *lines])


if __name__ == "__main__":
    main()
