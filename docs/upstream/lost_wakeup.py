"""Procrastinate's worker forgets a notification that arrives while it fetches.

Needs only Procrastinate (3.10), no database: the in-memory connector stands in for PostgreSQL, and
the second job is deferred right after a fetch saw an empty queue, before its answer is passed on.
``asyncio.run(main())`` prints what happened.
"""

import asyncio
from typing import Any

import procrastinate
from procrastinate.testing import InMemoryConnector
from procrastinate.worker import Worker

POLL = 3600.0  # seconds: whatever starts before that was started by its notification


class Racing(InMemoryConnector):
    """Defers one job between the look at the queue and the worker's ``clear``."""

    async def fetch_job_one(self, **arguments: Any) -> Any:
        row = await super().fetch_job_one(**arguments)
        if row["id"] is None and not raced.is_set():
            raced.set()
            await late.defer_async()  # this notifies the worker, which is still fetching
        return row


app = procrastinate.App(connector=Racing())
raced, started = asyncio.Event(), asyncio.Event()


@app.task
async def late() -> None:
    """The job whose notification is lost."""
    started.set()


async def starts(worker: Worker, within: float) -> bool:
    """Whether the job starts within so many seconds of being deferred."""
    running = asyncio.create_task(worker.run())
    try:
        await asyncio.wait_for(raced.wait(), 30)
        await asyncio.wait_for(started.wait(), within)
    except TimeoutError:
        return False
    finally:
        worker.stop()
        await running
    return True


async def main(kind: type[Worker] = Worker, within: float = 2.0) -> bool:
    """Run a worker of this kind; whether it heard of the job."""
    async with app.open_async():
        worker = kind(app, fetch_job_polling_interval=POLL, install_signal_handlers=False)
        heard = await starts(worker, within)
    print("started by its notification" if heard else "not started: it waits for the poll")
    return heard


if __name__ == "__main__":
    asyncio.run(main())
