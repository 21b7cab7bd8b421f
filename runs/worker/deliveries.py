"""Calls the teams' webhooks: a loop next to the jobs of every worker.

Each call is a separate task, so a slow receiver holds up no other; how many run at once is bounded
for the worker, a team and a webhook (``lifecycle/webhooks/choice.py``). The database is asked for
many of them at once: their results are stored together, and the next ones claimed with their
messages.
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
GATHER = 0.005
"""Seconds in which the ends of tries gather, to be stored in one transaction."""
ANSWER = 16_384
"""Bytes of an answer that are read, so that its connection can be used again."""


Try = tuple[WebhookDelivery, Call | Outcome | None]


class Deliverer:
    """Claims deliveries that are due, and tries each once."""

    def __init__(self) -> None:
        self._busy: dict[asyncio.Task[None], WebhookDelivery] = {}
        self._over: list[tuple[WebhookDelivery, Outcome]] = []
        self._left: list[WebhookDelivery] = []
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
                        # Tries that end a moment later are stored together with this one.
                        await asyncio.sleep(GATHER)
        finally:
            for task in self._busy:
                task.cancel()
            await asyncio.gather(*self._busy, return_exceptions=True)
            await self._client.aclose()

    async def fill(self) -> None:
        """Store the tries that are over, and begin calls that can be made now."""
        over, self._over, left, self._left = self._over, [], self._left, []
        try:
            await db(deliveries.record_all, over, left)
        except (OperationalError, InterfaceError):
            self._over, self._left = over + self._over, left + self._left
            raise
        if len(self._busy) >= settings.AGUI_WEBHOOK_CONCURRENCY:
            return
        until = asyncio.get_running_loop().time() + settings.AGUI_WEBHOOK_TIMEOUT
        for chain in await db(self._claim):
            task = asyncio.create_task(self._call(chain, until), name="webhook")
            self._busy[task] = chain[0][0]
            task.add_done_callback(self._done)

    def _claim(self) -> list[list[Try]]:
        """More deliveries with their requests; those of tasks make theirs in their own turns."""
        chains = deliveries.claim(list(self._busy.values()), self._choice)
        rows = [row for chain in chains for row in chain if row.webhook.task is None]
        calls = {row.pk: call for row, call in deliveries.calls_of(rows)}
        tries = [
            [(row, calls.get(row.pk)) for row in chain if row.webhook.task or row.pk in calls]
            for chain in chains
        ]
        return [chain for chain in tries if chain]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy.pop(task, None)
        self._more.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            # Its lease runs out, and it is tried again.
            log.warning("webhooks.try_failed", error=repr(error))

    async def _call(self, chain: list[Try], until: float) -> None:
        """Try one after another, as long as it works; the others are for the next claim."""
        scope.take_turns_as(f"team:{chain[0][0].team_id}")
        for number, (delivery, call) in enumerate(chain, 1):
            if call is None:
                ((_, call),) = await db(list, deliveries.calls_of([delivery]))
            outcome = call if isinstance(call, Outcome) else await self._post(call)
            self._over.append((delivery, outcome))
            self._more.set()
            works = outcome.success or outcome.moot
            if not works or asyncio.get_running_loop().time() >= until:
                self._left += [row for row, _ in chain[number:]]
                return

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
