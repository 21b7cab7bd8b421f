"""The cache that all web processes share: in Valkey, never needed for correctness.

It counts attempts to sign in, and pages that were sent an unfinished answer. With Valkey down
nothing is counted, and nobody is locked out: an attacker who can stop Valkey can do worse than
guess passwords, and everybody else must still get in.
"""

import json
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = structlog.get_logger(__name__)
COMMAND_SECONDS = 0.5  # seconds that one command may take
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


def _or(fallback: Any) -> Callable[[Method], Method]:
    """Let the method return ``fallback`` while Valkey does not answer."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def forgiving(*args: Any, **kwargs: Any) -> Any:
            if time.monotonic() < ForgivingCache.resting_until:
                return fallback
            try:
                return method(*args, **kwargs)
            except (RedisError, OSError) as error:
                ForgivingCache.resting_until = time.monotonic() + REST
                log.warning("cache.lost", error=repr(error))
                return fallback

        return forgiving

    return decorate


class ForgivingCache(RedisCache):
    """Django's Redis cache for the methods that this host uses; it is empty while Valkey is down.

    ``add`` then returns True, since it is used to take a lock, and ``incr`` -1, less than a count.
    """

    resting_until = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "serializer": Json,
            "socket_timeout": COMMAND_SECONDS,
            "socket_connect_timeout": COMMAND_SECONDS,
            "retry": Retry(NoBackoff(), 1),
        }
        super().__init__(server, {**params, "OPTIONS": options})

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """The value; ``default`` if there is none, or Valkey cannot be reached."""
        value = self._found(key, version)
        return default if value is None else value

    @_or(None)
    def _found(self, key: str, version: int | None) -> Any:
        return super().get(key, None, version)

    add = _or(True)(RedisCache.add)
    set = _or(None)(RedisCache.set)
    incr = _or(-1)(RedisCache.incr)
    delete = _or(False)(RedisCache.delete)
    has_key = _or(False)(RedisCache.has_key)
