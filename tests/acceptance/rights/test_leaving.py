"""Whoever leaves, and a key that is revoked, is out within two seconds, by every way there is."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.acceptance.host import Host
from tests.acceptance.leaving import WAYS, Way, prepare
from tests.acceptance.revoking import House, house_of, seed
from tests.acceptance.work_clock import WorkClock

pytestmark = pytest.mark.slow
LIMIT, DEADLINE = 2.0, 60.0
"""This host looks at the rights of open streams every ten minutes only, so what closes one here is
the bell. The limit is in seconds of a ``WorkClock``, the deadline, for a way that stays open, in
real ones."""


@pytest.fixture(scope="module")
def seeded(host: Host) -> dict[str, Any]:
    names = [way.name for way in WAYS]
    teams = seed(host, names)
    prepare(host, names)
    return teams


@pytest.fixture
def house(host: Host, seeded: dict[str, Any], way: Way) -> Iterator[House]:
    """The way's team; a run that goes on there is cancelled afterwards."""
    house = house_of(host, seeded, way.name)
    yield house
    if house.run:
        house.call("POST", f"runs/{house.run}/cancel", house.by_key("owner"))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_way_in_is_closed(house: House, way: Way) -> None:
    opens = way.make(house)
    assert opens(), "closed before anything was taken away"
    way.act(house)
    deadline = time.monotonic() + DEADLINE
    with WorkClock() as clock:
        while True:
            tried = clock.seconds()
            if not opens():
                break
            assert time.monotonic() < deadline, "still open"
            time.sleep(0.01)
    assert tried <= LIMIT
    mate = httpx.get(f"{house.host.url}/api/v1/runs", headers=house.by_key("owner"), timeout=60)
    assert mate.status_code == 200
