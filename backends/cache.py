"""The cache that all web processes share: in Valkey, never needed for correctness.

It counts attempts to sign in, and pages that were sent an unfinished answer. While Valkey is away,
or refuses what the host asks (a cluster, a replica, a user without rights, a full server), each
process counts for itself: people still get in, and the limit of attempts stays.
"""

import json
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = structlog.get_logger(__name__)
COMMAND_SECONDS = 0.5  # seconds that one command may take
MOST_ENTRIES = 20_000  # of a process's own memory
REST = 5.0  # seconds without a try after a failure: a page makes a dozen commands

Method = Callable[..., Any]


class Json:
    """JSON, not Django's pickle: reading the cache must never execute its content."""

    def dumps(self, value: Any) -> Any:
        """JSON as bytes; integers as they are, so that Valkey can count with them."""
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: Any) -> Any:
        """The value of what ``dumps`` wrote."""
        return json.loads(data)


def _or_here(name: str) -> Method:
    """The method of that name: Valkey's, or this process's memory's while Valkey is of no use."""
    there, here = getattr(RedisCache, name), getattr(LocMemCache, name)

    @wraps(there)
    def method(self: "ForgivingCache", *args: Any, **kwargs: Any) -> Any:
        try:
            if self.is_usable():
                return there(self, *args, **kwargs)
        except (RedisError, OSError) as error:
            ForgivingCache.resting_until = time.monotonic() + REST
            # Only the error's kind: a refusal's text can contain the command's arguments.
            log.warning("cache.lost", error=type(error).__name__)
        return here(self.memory, *args, **kwargs)

    return method


class ForgivingCache(RedisCache):
    """Django's Redis cache for the methods that this host uses, with a memory to fall back on."""

    resting_until = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "serializer": Json,
            "socket_timeout": COMMAND_SECONDS,
            "socket_connect_timeout": COMMAND_SECONDS,
            "retry": Retry(NoBackoff(), 1),
        }
        super().__init__(server, {**params, "OPTIONS": options})
        self.memory = LocMemCache("without-valkey", {"OPTIONS": {"MAX_ENTRIES": MOST_ENTRIES}})

    def is_usable(self) -> bool:
        """Whether to ask Valkey. Raises its error if it still takes no writes after a failure."""
        if not ForgivingCache.resting_until:
            return True
        if time.monotonic() < ForgivingCache.resting_until:
            return False
        # A full server and a replica answer reads: an empty history would lift the limit.
        RedisCache.set(self, "probe", 1, 5)
        ForgivingCache.resting_until = 0.0
        return True

    add = _or_here("add")
    get = _or_here("get")
    set = _or_here("set")
    incr = _or_here("incr")
    delete = _or_here("delete")
    has_key = _or_here("has_key")
