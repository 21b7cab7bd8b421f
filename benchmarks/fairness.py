"""A team's backlog of 10,000 runs of 1 s on 20 slots, while another starts one every second.

B never waits longer than the shortest remaining run and one pickup; A keeps more than 90 % of
the slots.
"""

from benchmarks.report import keep
from tests.acceptance.fairness import lines, observe
from tests.acceptance.host import Host
from tests.conftest import own_data_dir

BACKLOG, SLOTS, STARTS = 10_000, 20, 120


def main() -> None:
    with own_data_dir() as data:
        host = Host(
            data,
            AGUI_WORKER_CONCURRENCY=str(SLOTS),
            AGUI_LIMIT_RUNS_PER_MINUTE="0",
            AGUI_LIMIT_QUEUED_RUNS="0",
        )
        try:
            host.start(fsync=True)
            outcome = observe(host, backlog=BACKLOG, seconds=1, slots=SLOTS, starts=STARTS)
        finally:
            host.stop()
    keep("fairness", [f"A: {BACKLOG} runs of 1 s, {SLOTS} slots; B: one a second", *lines(outcome)])


if __name__ == "__main__":
    main()
