"""Work: what a team is charged, and how long it then waits."""

import pytest

from backends import metrics, work
from teams.limits import LimitReached, refuse_work


def test_a_team_in_debt_waits_until_its_share_has_come_back() -> None:
    now = [0.0]
    buckets = work.Buckets(share=100, burst=2.0, clock=lambda: now[0])
    buckets.charge("loud", 150)
    assert buckets.debt("loud") == 0.0
    buckets.charge("loud", 150)
    assert buckets.debt("loud") == 1.0
    assert buckets.debt("quiet") == 0.0
    now[0] += 0.5
    assert buckets.debt("loud") == 0.5
    now[0] += 10.0
    buckets.charge("loud", 200)
    assert buckets.debt("loud") == 0.0


def test_work_is_counted_by_team_and_kind_and_refused_in_debt() -> None:
    refuse_work("one")
    work.charge("one", "parse", work.SHARE * 10)
    assert metrics.work.labels("one", "parse")._value.get() == work.SHARE * 10
    with pytest.raises(LimitReached) as refused:
        refuse_work("one")
    assert refused.value.details == {"limit": "work", "max": work.SHARE}
    refuse_work("other")
