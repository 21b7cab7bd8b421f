"""The open streams of all web processes, counted in PostgreSQL (``backends.stream_limit``)."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from agui_host.backends.without_valkey.tables import session

# Each statement has its own snapshot, so statements after the lock see all earlier calls.
EXCHANGE = """
select pg_advisory_xact_lock(hashtextextended(%(key)s, 2828));
delete from agui_seat
 where owner = %(key)s and (until <= clock_timestamp() or seat = any(%(departures)s::text[]));
insert into agui_seat (owner, seat, until)
select %(key)s, seat, clock_timestamp() + make_interval(secs => %(lease)s)
  from unnest(%(members)s::text[]) seat
    on conflict (owner, seat) do update set until = excluded.until;
with taken as (
    select count(*) as total from agui_seat where owner = %(key)s
), free as (
    insert into agui_seat (owner, seat, until)
    select %(key)s, seat, clock_timestamp() + make_interval(secs => %(lease)s)
      from unnest(%(requests)s::text[]) with ordinality request (seat, place), taken
     where place <= %(most)s - total
    returning 1
)
select total + (select count(*) from free), (select count(*) from free) from taken
"""
COUNT = """
select owner, count(*) from agui_seat
 where owner = any(%(keys)s::text[]) and until > clock_timestamp() group by owner
"""
SECONDS = 0.25
_thread = ThreadPoolExecutor(1, "seats")


class TableSeats:
    """The rows of seats, in ``ValkeySeats``' form."""

    has_replicas = False
    seconds = SECONDS

    async def exchange(
        self,
        key: str,
        *,
        lease: int,
        most: int,
        departures: Sequence[str],
        members: Sequence[str],
        requests: Sequence[str],
    ) -> tuple[int, int]:
        """The seats taken after these changes, and how many of the requests have one.

        Raises ConnectionError without PostgreSQL.
        """
        values = {
            "key": key,
            "lease": lease,
            "most": most,
            "departures": list(departures),
            "members": list(members),
            "requests": list(requests),
        }
        loop = asyncio.get_running_loop()
        rows = await loop.run_in_executor(_thread, session.rows, EXCHANGE, values)
        total, free = rows[0]
        return total, free

    async def rest(self) -> None:
        """Nothing to close: the session counts attempts to sign in as well."""

    async def renew(self) -> None:
        """Nothing to make: the session connects again by itself."""


def counts(keys: Sequence[str]) -> list[int] | None:
    """How many seats of each key are taken (synchronous); None without PostgreSQL."""
    try:
        rows = dict(session.rows(COUNT, {"keys": list(keys)}))
    except ConnectionError:
        return None
    return [int(rows.get(key, 0)) for key in keys]
