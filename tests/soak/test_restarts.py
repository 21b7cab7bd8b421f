"""The restart matrix: seven faults, and four things that a host may be in the middle of."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import time

import pytest

from benchmarks.report import keep
from tests.acceptance.supervised import Supervised
from tests.soak.circumstances import SEED, Circumstances, Ends
from tests.soak.faults import FAULTS, fill_the_disk, hold_the_interpreter, kill_worker, small_disk

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1500)]
SILENT = 45.0
"""Seconds until a live run goes on, or its reader knows that it was lost."""
NEXT = 30.0
LATE = 120.0
"""Questions expire within a minute, a purge is tried again within one; a fault adds one at most."""
TABLE: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """The whole matrix, once its rows are there. Times are in seconds."""
    TABLE.clear()
    yield
    head = f"{'fault':<40} {'live run':<20} {'silent':>6}  {'queued run':<10} {'after':>6}"
    keep("restarts", [f"{head}  {'expired':>7}  {'purged':>7}", *TABLE])


def seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"


def row(fault: str, ends: Ends) -> str:
    return (
        f"{fault:<40} {ends.live:<20} {seconds(ends.silent):>6}  {ends.queued:<10}"
        f" {seconds(ends.queued_after):>6}  {seconds(ends.expired_after):>7}"
        f"  {seconds(ends.purged_after):>7}"
    )


@pytest.mark.parametrize("name", FAULTS)
def test_everything_ends_as_it_should(data_dir: Path, name: str) -> None:
    """Nobody helps; the only reader comes back with its cursor, as clients do."""
    fault = FAULTS[name]
    with ExitStack() as stack:
        data = data_dir
        if fault is fill_the_disk:
            data = stack.enter_context(small_disk(data_dir / "small"))
        host = Supervised(
            data,
            seed=SEED,
            AGUI_AGENT_MODULES="tests.acceptance.stuck",
            AGUI_LIMIT_RETENTION_DAYS="30",
        )
        stack.callback(host.stop)
        host.start(fsync=True)
        circumstances = Circumstances(host)
        fault_at = time()
        fault(host)
        ends = circumstances.ends(fault_at)
        TABLE.append(row(name, ends))
        print(row(name, ends), host.log()[-4000:], sep="\n")
        lost = fault in (kill_worker, hold_the_interpreter)
        assert ends.live == ("failed worker_lost" if lost else "succeeded")
        assert circumstances.whole()
        assert ends.queued == "succeeded"
        assert ends.silent <= SILENT
        assert ends.queued_after is not None
        assert ends.queued_after <= NEXT
        assert ends.expired_after is not None
        assert ends.expired_after <= LATE
        assert ends.purged_after is not None
        assert ends.purged_after <= LATE
