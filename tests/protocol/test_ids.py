"""Times in ids."""

import time

import uuid6

from protocol.ids import uuid7_floor, uuid7_seconds


def test_an_id_carries_the_time_it_was_made() -> None:
    before = time.time()
    made = uuid7_seconds(uuid6.uuid7())
    assert before - 0.01 <= made <= time.time() + 0.01


def test_the_floor_is_below_every_id_of_its_moment() -> None:
    id = uuid6.uuid7()
    floor = uuid7_floor(uuid7_seconds(id))
    assert floor <= id < uuid7_floor(uuid7_seconds(id) + 0.002)
    assert uuid7_seconds(floor) == uuid7_seconds(id)
