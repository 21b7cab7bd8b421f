"""Prints how many states there are, and what each planted defect leads to."""

from tests.runs.worker.handover.defects import DEFECTS, SIZES
from tests.runs.worker.handover.search import explore
from tests.runs.worker.handover.states import Rules


def main() -> None:
    for name, size in SIZES.items():
        result = explore(Rules(), size)
        print(f"{name}: {result.states:,} states, {result.steps:,} steps, {result.broken or 'ok'}")
        for outcome, count in sorted(result.ends.items()):
            print(f"    {outcome}: {count}")
    for name, (rules, size, _) in DEFECTS.items():
        result = explore(rules, size)
        print(f"{name}: {result.broken or 'NOT NOTICED'} after {result.states:,} states")
        for step in result.path:
            print(f"    {step}")


if __name__ == "__main__":
    main()
