"""The shared cache: JSON in Valkey, and empty while Valkey is away."""

from collections.abc import Iterator

import pytest
import redis
from django.conf import settings
from django.core.cache import cache

from agui_host.backends.cache import ForgivingCache


@pytest.fixture
def away() -> Iterator[ForgivingCache]:
    """A cache whose server is not there."""
    yield ForgivingCache("redis://127.0.0.1:1", {})
    ForgivingCache.resting_until = 0.0


def test_values_come_back_and_are_json_on_the_way() -> None:
    for value in ([1.5, 2.5], True, 3, "ä", {"a": None}):
        cache.set("k", value, 60)
        assert cache.get("k") == value
        stored = redis.Redis.from_url(settings.REDIS_URL).get(cache.make_key("k"))
        assert isinstance(stored, bytes)
        assert b"\x80" not in stored[:1]  # where a pickle begins
    assert cache.add("k", 1) is False
    cache.delete("k")
    assert cache.get("k", "none") == "none"
    assert cache.add("k", 1, 60) is True


def test_without_valkey_this_process_counts_for_itself(away: ForgivingCache) -> None:
    away.delete("k")
    assert away.add("k", 1) is True
    assert away.add("k", 1) is False
    assert away.incr("k") == 2
    away.set("k", 3)
    assert away.get("k") == 3
    assert away.has_key("k") is True
    assert away.delete("k") is True
    assert away.get("k", 5) == 5


def test_a_failure_is_said_once_and_not_tried_again_at_once(
    away: ForgivingCache, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        away.get("k")
    assert caplog.text.count("cache.lost") == 1
    assert cache.get("k") is None  # all caches of the process rest together
    ForgivingCache.resting_until = 0.0
    cache.set("k", 1, 60)
    assert cache.get("k") == 1
