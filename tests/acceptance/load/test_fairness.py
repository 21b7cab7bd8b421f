"""A team with a backlog does not keep another waiting, and gets all that the other leaves."""

from collections.abc import Callable

import pytest

from tests.acceptance.fairness import lines, observe
from tests.acceptance.host import Host

UNLIMITED = {"AGUI_LIMIT_RUNS_PER_MINUTE": "0", "AGUI_LIMIT_QUEUED_RUNS": "0"}


@pytest.mark.slow
def test_a_backlog_lets_a_newcomer_pass(new_host: Callable[..., Host]) -> None:
    """The small twin: order, not the clock. In order of arrival B would wait for all of A's."""
    limits = {**UNLIMITED, "AGUI_LIMIT_CONCURRENT_RUNS": "40"}
    host = new_host(AGUI_WORKER_CONCURRENCY="4", **limits)
    outcome = observe(host, backlog=120, seconds=0.5, slots=4, starts=5)
    print(*lines(outcome), sep="\n")
    assert max(outcome.overtaken) <= 4, "at most those that were fetched already"
    assert outcome.left > 0, "the backlog was there all the time"
    assert outcome.share > 0.5


@pytest.mark.soak
def test_ten_thousand_runs_of_another_team(new_host: Callable[..., Host]) -> None:
    host = new_host(AGUI_WORKER_CONCURRENCY="20", **UNLIMITED)
    outcome = observe(host, backlog=10_000, seconds=1, slots=20, starts=120)
    print(*lines(outcome), sep="\n")
    assert max(outcome.pickups) < 0.5
    assert max(outcome.overtaken) <= 20
    assert outcome.left > 0
    assert outcome.share > 0.9
