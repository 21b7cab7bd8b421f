"""Calls the teams' webhooks: a loop next to the jobs of every worker.

Each delivery is a separate task, so a slow receiver holds up no other; how many run at once is
bounded for the worker, a team and a webhook (``lifecycle/webhooks/choice.py``).
"""

import asyncio
import time
from contextlib import suppress

import httpx
import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError

from agui_host.backends.postgres import clock, scope
from agui_host.backends.postgres.bridge import db
from agui_host.security import outbound
from agui_host.security.addresses import AddressRefused
from runs.lifecycle.webhooks import deliveries
from runs.lifecycle.webhooks.choice import Choice
from runs.lifecycle.webhooks.deliveries import Call, Outcome
from runs.models import WebhookDelivery

log = structlog.get_logger(__name__)
POLL = 1.0
ANSWER = 16_384
"""Bytes of an answer that are read, so that its connection can be used again."""


class Deliverer:
    """Claims deliveries that are due, and tries each once."""

    def __init__(self) -> None:
        self._busy: dict[asyncio.Task[None], WebhookDelivery] = {}
        self._choice = Choice()
        self._more = asyncio.Event()
        self._client = outbound.client(
            timeout=settings.AGUI_WEBHOOK_TIMEOUT,
            max_connections=settings.AGUI_WEBHOOK_CONCURRENCY,
        )

    async def run(self) -> None:
        """Deliver until cancelled; another worker tries cut off ones again."""
        try:
            while True:
                self._more.clear()
                try:
                    await self.fill()
                except (OperationalError, InterfaceError):
                    pass  # The database is away, which others report; try again soon.
                except Exception:
                    log.exception("webhooks.failed")
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL):
                        await self._more.wait()
        finally:
            for task in self._busy:
                task.cancel()
            await asyncio.gather(*self._busy, return_exceptions=True)
            await self._client.aclose()

    async def fill(self) -> int:
        """Begin deliveries that can be tried now; returns how many."""
        if len(self._busy) >= settings.AGUI_WEBHOOK_CONCURRENCY:
            return 0
        claimed = await db(deliveries.claim, list(self._busy.values()), self._choice)
        for delivery in claimed:
            task = asyncio.create_task(self._deliver(delivery), name="webhook")
            self._busy[task] = delivery
            task.add_done_callback(self._done)
        return len(claimed)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy.pop(task, None)
        self._more.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            # Its lease runs out, and it is tried again.
            log.warning("webhooks.try_failed", error=repr(error))

    async def _deliver(self, delivery: WebhookDelivery) -> None:
        scope.take_turns_as(f"team:{delivery.team_id}")
        call = await db(deliveries.call_of, delivery)
        outcome = call if isinstance(call, Outcome) else await self._post(call)
        await db(deliveries.record, delivery, outcome)

    async def _post(self, call: Call) -> Outcome:
        at, began = clock.now(), time.monotonic()
        status, error = None, ""
        try:
            # httpx's timeouts are for each read, and an answer can come byte by byte.
            async with (
                asyncio.timeout(settings.AGUI_WEBHOOK_TIMEOUT),
                self._client.stream(
                    "POST", call.url, content=call.body, headers=call.headers
                ) as response,
            ):
                status = response.status_code
                await _drain(response)
        except (TimeoutError, httpx.TimeoutException):
            error = "It did not answer in time." if status is None else ""
        except AddressRefused as refused:
            error = refused.message
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as failure:
            error = f"It could not be called ({type(failure).__name__})." if status is None else ""
        if status is not None and 300 <= status < 400:
            error = "It redirects, which is not followed; use its final URL."
        return Outcome(at, int((time.monotonic() - began) * 1_000), status, error)


async def _drain(response: httpx.Response) -> None:
    """Read a short answer to its end; a longer one is cut off by closing its connection."""
    left = ANSWER
    async for chunk in response.aiter_raw():
        if (left := left - len(chunk)) < 0:
            return
