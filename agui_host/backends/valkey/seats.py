"""The open streams of all web processes, counted in Valkey (``backends.stream_limit``)."""

from collections.abc import Awaitable, Sequence
from typing import Any

from agui_host.backends.valkey.addresses import has_replicas
from agui_host.backends.valkey.clients import ERRORS, async_client, client, renew, rest

TIMEOUT = 0.25
TO_FIND = 4
"""Times as long if several servers are named: a new client looks for the right one first."""

# Valkey's own clock, so that the clocks of the web processes need not agree.
# ARGV: lease, limit, number of departures, number of members; then these, then the requests.
EXCHANGE = """
local now = tonumber(redis.call('TIME')[1])
local till, limit = now + ARGV[1], tonumber(ARGV[2])
local members = 5 + ARGV[3]
local requests = members + ARGV[4]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
for i = 5, members - 1 do redis.call('ZREM', KEYS[1], ARGV[i]) end
for i = members, requests - 1 do redis.call('ZADD', KEYS[1], till, ARGV[i]) end
local total, free = redis.call('ZCARD', KEYS[1]), 0
for i = requests, math.min(#ARGV, requests - 1 + limit - total) do
  redis.call('ZADD', KEYS[1], till, ARGV[i])
  free = free + 1
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return {total + free, free}
"""
COUNT = """
local counts, now = {}, '(' .. redis.call('TIME')[1]
for i, key in ipairs(KEYS) do counts[i] = redis.call('ZCOUNT', key, now, '+inf') end
return counts
"""
MOST_KEYS = 1_000
"""Keys of one call: Lua passes about 8,000 at most, and other calls wait for it."""


class ValkeySeats:
    """The sets of seats, one per owner; each member's score is its expiry."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.has_replicas = has_replicas(url)
        self.seconds = TIMEOUT * (TO_FIND if self.has_replicas else 1)
        self.client = async_client(url, self.seconds)

    def exchange(
        self,
        key: str,
        *,
        lease: int,
        most: int,
        departures: Sequence[str],
        members: Sequence[str],
        requests: Sequence[str],
    ) -> Awaitable[Any]:
        """The seats taken after these changes, and how many of the requests have one.

        Raises one of ``ERRORS`` without Valkey.
        """
        numbers: list[Any] = [lease, most, len(departures), len(members)]
        call: Awaitable[Any] = self.client.eval(
            EXCHANGE, 1, key, *numbers, *departures, *members, *requests
        )
        return call

    async def rest(self) -> None:
        """Close idle connections."""
        await rest(self.client)

    async def renew(self) -> None:
        """Make a new client after a failure, where that is needed."""
        self.client = await renew(self.client, self.url, self.seconds)


def counts(url: str, keys: Sequence[str]) -> list[int] | None:
    """How many seats of each key are taken (synchronous); None without Valkey."""
    try:
        server = client(url, TIMEOUT)
        try:
            numbers = list[int]()
            for first in range(0, len(keys), MOST_KEYS):
                some = keys[first : first + MOST_KEYS]
                numbers += map(int, server.eval(COUNT, len(some), *some))
            return numbers
        finally:
            server.close()
    except ERRORS:
        return None
