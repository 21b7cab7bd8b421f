"""Many runs of a remote agent on one worker process; the figures are in benchmarks/results."""

import pytest

from benchmarks import remote_runs


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_fifty_remote_runs_live_at_once_and_none_is_lost() -> None:
    """The small twin. What a worker takes once weighs more on 50 runs than on 1,000."""
    remote_runs.check(remote_runs.measured(50, 25), limit_kb=600)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_thousand_remote_runs_take_at_most_200_kb_each() -> None:
    remote_runs.check(remote_runs.measured(1000, 90))
