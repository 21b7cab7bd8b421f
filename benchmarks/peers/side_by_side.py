"""This tree's host and another commit's, both running at once and measured in short turns.

``python -m benchmarks.peers.side_by_side COMMIT`` unpacks the commit into a folder, starts a host
of each tree and asks them for one cell after the other: other, this, this, other (``BENCH_ROUNDS``
such turns). A machine whose speed changes within minutes changes both; ``against``, which measures
the one host after the other, cannot tell less than a tenth there. Printed are both medians, their
ratio, and the quartiles of the ratios of neighbours.

First what starts and deltas cost by themselves, of workers without chores; then, of usual hosts,
runs with all that follows them within some time: a host that does it sooner has less of its
processor left for the runs that come next.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.against import ROOT, unpacked
from benchmarks.report import commit, keep

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "8"))
CELLS = (
    "delivered 20 2000",
    "delivered 100 400",
    "starts 1 60",
    "starts 10 200",
    "starts 50 200",
    "first 1 30",
    "first 100 100",
)
WHOLE = ("whole 100 400 45",)
REST = 0.3
"""Seconds between two cells: what the one left under way is not the next one's to pay."""

Figures = defaultdict[str, list[float]]


class Side:
    """A host in a tree, which answers cells."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def measure(self, cell: str) -> dict[str, float]:
        """The figures of one cell, by name."""
        assert self._process.stdin
        assert self._process.stdout
        time.sleep(REST)
        self._process.stdin.write(cell + "\n")
        self._process.stdin.flush()
        figures: dict[str, float] = json.loads(self._process.stdout.readline())
        return figures


@contextmanager
def started(tree: Path, *options: str) -> Iterator[Side]:
    """A tree's host, until its standard input ends."""
    command = [sys.executable, "-m", "benchmarks.peers.cells", *options]
    env = {**os.environ, "PYTHONPATH": str(tree)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=tree, env=env, stdin=pipe, stdout=pipe, text=True
    ) as process:
        yield Side(process)


def compare(other: Side, this: Side, cells: Sequence[str], rounds: int) -> Iterator[str]:
    """One line per figure, under a line for each cell."""
    for cell in cells:
        for side in (other, this):
            side.measure(cell)  # to warm up
        before: Figures = defaultdict(list)
        after: Figures = defaultdict(list)
        for number in range(2 * rounds):
            order = [(other, before), (this, after)]
            for side, collected in order if number % 2 else reversed(order):
                for name, value in side.measure(cell).items():
                    collected[name].append(value)
        yield f"{cell}, {2 * rounds} times each"
        for name, values in after.items():
            yield line(name, before[name], values)


def line(name: str, before: list[float], after: list[float]) -> str:
    """Both medians, their ratio, and the middle half of the ratios of neighbours."""
    old, new = statistics.median(before), statistics.median(after)
    low, _, high = statistics.quantiles((b / (a or 1) for a, b in zip(before, after, strict=True)))
    ratio = new / old if old else 0
    return f"  {name:<44} {old:>9,.2f} {new:>9,.2f}  × {ratio:.2f}  ({low:.2f} to {high:.2f})"


def both(trees: Sequence[Path], *options: str, cells: Sequence[str], rounds: int) -> list[str]:
    """``compare`` of a host of each tree."""
    with ExitStack() as stack:
        other, this = (stack.enter_context(started(tree, *options)) for tree in trees)
        return list(compare(other, this, cells, rounds))


def main() -> None:
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        trees = unpacked(name, Path(folder) / "other"), ROOT
        lines = both(trees, "--alone", cells=CELLS, rounds=ROUNDS)
        lines += both(trees, cells=WHOLE, rounds=max(1, ROUNDS // 4))
    columns = f"{name}, {commit()}, ratio (middle half of the ratios of neighbours)"
    keep(f"beside-{name}", [columns, *lines])


if __name__ == "__main__":
    main()
