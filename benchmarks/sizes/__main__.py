"""``python -m benchmarks.sizes``: the model's predictions beside results, and plans.

python -m benchmarks.sizes [RUNS_PER_SECOND EVENTS_PER_SECOND READERS [SECONDS_PER_RUN]]
"""

import sys
from collections.abc import Iterator

from benchmarks.sizes.model import Load, points, size

PLANS = {
    "one machine": Load(1, 50, 100),
    "two machines": Load(20, 2_000, 1_000),
    "many": Load(100, 20_000, 10_000),
}
HEAD = (
    "| load | runs/s | events/s | readers | cores | web | workers | memory | connections | disk |"
)


def table(plans: dict[str, Load]) -> Iterator[str]:
    """The table of docs/sizes.md."""
    yield HEAD
    yield "|" + " --- |" * HEAD.count(" |")
    for name, load in plans.items():
        need = size(load)
        yield (
            f"| {name} | {load.runs_per_second:g} | {load.events_per_second:,g} |"
            f" {load.readers:,} | {max(need.cores, 0.1):.1f} | {need.webs} | {need.workers} |"
            f" {need.memory_gb:.1f} GB | {need.connections} | {need.disk_gb_per_day:,.1f} GB/day |"
        )


def main() -> None:
    numbers = [float(word) for word in sys.argv[1:]]
    plans = PLANS
    if numbers:
        runs, events, readers, *seconds = numbers
        plans = {"yours": Load(runs, events, int(readers), *seconds)}
    print(f"{'':<46} {'model':>10} {'measured':>10}")
    print(*(point.line for point in points()), "", *table(plans), sep="\n")


if __name__ == "__main__":
    main()
