"""Work: what a team is charged, and how long it then waits."""

from uuid import uuid4

import pytest

from agui_host.backends import metrics, work
from agui_host.teams.limits import LimitReached, refuse_work


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


def test_beside_others_a_team_has_a_part_of_its_share() -> None:
    now = [0.0]
    buckets = work.Buckets(share=100, burst=1.0, clock=lambda: now[0])
    buckets.charge("loud", 1_100)
    buckets.charge("address", 1, is_team=False)
    assert buckets.debt("loud") == 10.0, "anybody can come from an address"
    buckets.charge("quiet", 1)
    assert buckets.debt("loud") == pytest.approx(10.0 / work.BESIDE)
    buckets.charge("loud", 0)
    now[0] += work.LATELY / 2
    assert buckets.debt("loud") > 10.0
    now[0] += work.LATELY
    buckets.charge("loud", 0)
    before = buckets.debt("loud")
    buckets.come("quiet")
    buckets.come("loud")
    assert buckets.debt("loud") == pytest.approx(before / work.BESIDE), "it waits for events"
    buckets.come("quiet")
    buckets.go("quiet")
    assert buckets.debt("loud") > before, "one of two is still open"
    buckets.go("quiet")
    assert buckets.debt("loud") == before
    buckets.go("loud")
    assert not buckets._present


def test_work_is_counted_by_team_and_kind_and_refused_in_debt() -> None:
    loud, quiet = uuid4(), uuid4()
    refuse_work(loud)
    work.charge(loud, "parse", work.SHARE * 10)
    assert metrics.work.labels(str(loud), "parse")._value.get() == work.SHARE * 10
    with pytest.raises(LimitReached) as refused:
        refuse_work(loud)
    assert refused.value.details == {"limit": "work", "max": work.SHARE}
    refuse_work(quiet)


def test_a_thousand_addresses_are_one_line_of_the_metric() -> None:
    """Each pays for itself, but anybody can come from as many as there are."""
    for number in range(1_000):
        work.charge(f"address:{number}", "view", work.SHARE * 10)
    assert work.debt("address:7")
    names = {labels[0] for labels in metrics.work._metrics}
    assert not [name for name in names if name.startswith("address:")]
    assert work.OTHERS in names
