"""Whoever leaves, and a key that is revoked, is out within two seconds, by every way there is."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.acceptance.host import Host
from tests.acceptance.leaving import WAYS, Way, prepare
from tests.acceptance.revoking import House, house_of, seed

pytestmark = pytest.mark.slow
LIMIT = 30.0
"""Two seconds are promised; a machine that runs other tests may take longer. This host looks at the
rights of open streams every ten minutes only, so what closes one here is the bell."""


@pytest.fixture(scope="module")
def seen(host: Host) -> dict[str, Any]:
    names = [way.name for way in WAYS]
    teams = seed(host, names)
    prepare(host, names)
    return teams


@pytest.fixture
def house(host: Host, seen: dict[str, Any], way: Way) -> Iterator[House]:
    """The way's team; a run that goes on there is cancelled afterwards."""
    house = house_of(host, seen, way.name)
    yield house
    if house.run:
        house.call("POST", f"runs/{house.run}/cancel", house.by_key("owner"))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_way_in_is_closed(house: House, way: Way) -> None:
    opens = way.make(house)
    assert opens(), "closed before anything was taken away"
    way.act(house)
    acted = time.monotonic()
    while opens():
        assert time.monotonic() - acted < LIMIT
        time.sleep(0.05)
    mate = httpx.get(f"{house.host.url}/api/v1/runs", headers=house.by_key("owner"), timeout=60)
    assert mate.status_code == 200
