"""The cache that all web processes share: in Valkey, never needed for correctness.

It counts attempts to sign in, and pages that were sent an unfinished answer. While Valkey is away,
or refuses the host's commands (a cluster, a replica, a user without rights, a full server), each
process counts for itself, from its last written counts: people still get in, and the limit of
attempts stays.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache

from agui_host.backends import valkey
from agui_host.backends.valkey.clients import shared

log = structlog.get_logger(__name__)
COMMAND_SECONDS = 0.5  # seconds for one command
MOST_ENTRIES = 20_000  # of a process's own memory
REST = 5.0  # seconds without a try after a failure: a page makes a dozen commands

Method = Callable[..., Any]


class ValkeyCache(BaseCache):
    """The methods of Django's cache that this host uses, each one command for one key.

    Django's own Redis cache has neither sentinels nor clusters.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.server = server

    def client(self) -> Any:
        """The process's client; a cluster's connects here, if nothing did so before."""
        return shared(self.server, COMMAND_SECONDS, 1)

    def lifetime(self, timeout: Any) -> int | None:
        """A value's lifetime in milliseconds; None for no end."""
        if timeout is DEFAULT_TIMEOUT:
            timeout = self.default_timeout
        return None if timeout is None else max(1, int(timeout * 1000))

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Store the value if there is none; whether it was stored."""
        key = self.make_and_validate_key(key, version=version)
        lifetime = self.lifetime(timeout)
        return bool(self.client().set(key, _packed(value), px=lifetime, nx=True))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The value, or ``default``."""
        data = self.client().get(self.make_and_validate_key(key, version=version))
        return default if data is None else json.loads(data)

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        """Store the value."""
        key = self.make_and_validate_key(key, version=version)
        self.client().set(key, _packed(value), px=self.lifetime(timeout))

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """The number that is stored, after raising it. Raises ValueError if there is none."""
        name, client = self.make_and_validate_key(key, version=version), self.client()
        if not client.exists(name):
            raise ValueError(f"Key {key!r} not found.")
        return int(client.incrby(name, delta))

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Remove the value; whether there was one."""
        return bool(self.client().delete(self.make_and_validate_key(key, version=version)))

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Whether there is a value."""
        return bool(self.client().exists(self.make_and_validate_key(key, version=version)))

    def clear(self) -> None:
        """Remove all values, and whatever else is in the database."""
        self.client().flushdb()


def _packed(value: Any) -> Any:
    """JSON, not Django's pickle; integers as they are, so that Valkey can count with them."""
    return value if type(value) is int else json.dumps(value).encode()


def _or_here(name: str, *, writes: bool) -> Method:
    """The method of that name: Valkey's, or this process's memory's while Valkey is of no use.

    Memory gets each write as well: it continues where Valkey stopped.
    """
    there, here = getattr(ValkeyCache, name), getattr(LocMemCache, name)

    @wraps(there)
    def method(self: "ForgivingCache", *args: Any, **kwargs: Any) -> Any:
        try:
            if self.is_usable():
                answer = there(self, *args, **kwargs)
                if writes:
                    with suppress(ValueError):  # It counts on another process's number.
                        here(self.memory, *args, **kwargs)
                return answer
        except valkey.ERRORS as error:
            ForgivingCache.resting_until = time.monotonic() + REST
            shared.cache_clear()  # A cluster's client can have forgotten the URL's nodes.
            # Only the error's kind: a refusal's text can contain the command's arguments.
            log.warning("cache.lost", error=type(error).__name__)
        return here(self.memory, *args, **kwargs)

    return method


class ForgivingCache(ValkeyCache):
    """The cache in Valkey, with a memory to fall back on."""

    resting_until = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.memory = LocMemCache("without-valkey", {"OPTIONS": {"MAX_ENTRIES": MOST_ENTRIES}})

    def is_usable(self) -> bool:
        """Whether to ask Valkey. Raises its error if it still takes no writes after a failure."""
        if not ForgivingCache.resting_until:
            return True
        if time.monotonic() < ForgivingCache.resting_until:
            return False
        # A full server and a replica answer reads: an empty history would lift the limit.
        ValkeyCache.set(self, "probe", 1, 5)
        ForgivingCache.resting_until = 0.0
        return True

    add = _or_here("add", writes=True)
    get = _or_here("get", writes=False)
    set = _or_here("set", writes=True)
    incr = _or_here("incr", writes=True)
    delete = _or_here("delete", writes=True)
    has_key = _or_here("has_key", writes=False)
    clear = _or_here("clear", writes=True)
