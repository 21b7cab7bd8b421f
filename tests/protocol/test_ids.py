"""Times in ids."""

import time
from uuid import RFC_4122

import pytest
import uuid6

from agui_host.protocol.ids import above, uuid7, uuid7_floor, uuid7_seconds


def test_an_id_carries_the_time_it_was_made() -> None:
    before = time.time()
    made = uuid7_seconds(uuid6.uuid7())
    assert before - 0.01 <= made <= time.time() + 0.01


def test_the_floor_is_below_every_id_of_its_moment() -> None:
    id = uuid6.uuid7()
    floor = uuid7_floor(uuid7_seconds(id))
    assert floor <= id < uuid7_floor(uuid7_seconds(id) + 0.002)
    assert uuid7_seconds(floor) == uuid7_seconds(id)


@pytest.mark.parametrize("seconds", [0.001, 1_700_000_000.1234])
def test_a_new_id_is_a_uuid7_of_its_moment(seconds: float) -> None:
    made = uuid7(seconds)
    assert (made.version, made.variant) == (7, RFC_4122)
    assert uuid7_seconds(made) == int(seconds * 1000) / 1000
    assert made >= uuid7_floor(seconds)
    assert made != uuid7(seconds)


def test_an_id_above_another_is_of_the_next_millisecond() -> None:
    earlier = uuid7(1_700_000_000.123)
    later = above(earlier)
    assert later > earlier
    assert uuid7_seconds(later) == 1_700_000_000.124
    assert (later.version, later.variant) == (7, RFC_4122)
