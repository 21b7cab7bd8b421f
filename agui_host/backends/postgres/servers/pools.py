"""Pools that try again soon: after a failover psycopg's wait twice as long with each attempt."""

from typing import Any

from psycopg_pool import AsyncConnectionPool, ConnectionPool, pool, pool_async

LONGEST = 2.0
"""Seconds between two attempts to connect, however long the database was away."""


class QuickPool(ConnectionPool[Any]):
    """A pool whose waiting requests are served within seconds after a promotion."""

    def schedule_task(self, task: Any, delay: float) -> None:
        """Run a task in the future; an attempt to connect soon."""
        soon = isinstance(task, pool.AddConnection)
        super().schedule_task(task, min(delay, LONGEST) if soon else delay)


class QuickAsyncPool(AsyncConnectionPool[Any]):
    """The same for the job queue."""

    async def schedule_task(self, task: Any, delay: float) -> None:
        """Run a task in the future; an attempt to connect soon."""
        soon = isinstance(task, pool_async.AddConnection)
        await super().schedule_task(task, min(delay, LONGEST) if soon else delay)
