"""Stops a run that has spent a budget: before it begins, at each report, and at its end.

A run for which there is no room only because other runs could need it waits before it begins.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import structlog
from django.db import DatabaseError

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.run_context import RunContext
from runs.lifecycle.budgets import asking, spending
from runs.lifecycle.budgets.spending import Total
from runs.lifecycle.usage import team_prices
from runs.models import Budget, Run

log = structlog.get_logger(__name__)
LONGEST_WAIT = 300.0
"""Seconds in which a run waits for room that the calls of others take."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


class Spent(RunFailed):
    """A budget is spent; ``question`` ends the run if the budget asks."""

    def __init__(self, budget: Budget, run: Run) -> None:
        state = "is spent" if budget.is_spent else "has no room next to the other runs"
        super().__init__(
            RunErrorCode.BUDGET_EXCEEDED,
            f"The budget of {budget.max.normalize():,f} {budget.unit} for {budget.scope}"
            f" {budget.of} {state}.",
        )
        self.question = asking.question(budget) if asking.should_ask(budget, run) else None


class Watch:
    """The budgets of one run. ``spent`` is set when it cancels the task that reads the agent."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.spent: Spent | None = None
        self._prices = team_prices.usual()
        self._reader: asyncio.Task[Any] | None = None

    async def stream(
        self, events: AsyncGenerator[Any, None], ctx: RunContext
    ) -> AsyncGenerator[Any, None]:
        """The events, watched if the team has budgets. Raises Spent if the run cannot begin."""
        watched = spending.noted_with(self.run)
        if watched is None:
            watched = await db(spending.has_budgets, self.run.team_id)
        if not watched:
            return events
        self._prices = await team_prices.loaded(self.run.team_id)
        self._reader = asyncio.current_task()  # Middleware can read the events in other tasks.
        await self._begin()
        return self._watched(events, ctx)

    async def _begin(self) -> None:
        """Reserve the first model call, as soon as there is room for it. Raises Spent.

        A child does not wait: its parent can be the run that takes the room until it has ended.
        """
        pause, until = FIRST_PAUSE, time.monotonic() + LONGEST_WAIT
        while (budget := await db(spending.begin, self.run.pk)) is not None:
            is_over = time.monotonic() >= until
            if budget.is_spent or self.run.parent_id is not None or is_over:
                raise Spent(budget, self.run)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _watched(
        self, events: AsyncGenerator[Any, None], ctx: RunContext
    ) -> AsyncGenerator[Any, None]:
        loop = asyncio.get_running_loop()
        reported, final = asyncio.Event(), False

        def note() -> None:
            loop.call_soon_threadsafe(reported.set)

        ctx.on_usage = note
        checker = asyncio.create_task(self._check(reported, ctx))
        try:
            async with aclosing(events):
                async for event in events:
                    if (usage := _final_usage(event)) is not None:
                        await _stopped(checker)
                        final, (entries, result) = True, usage
                        total = self._total(entries or ctx.used, result)
                        self._raise(await db(spending.report, self.run.pk, total, last=True))
                    yield event
        finally:
            ctx.on_usage = None
            await _stopped(checker)
            if not final and ctx.used:  # A run that is cut short counts with its spending.
                await db(spending.report, self.run.pk, self._total(ctx.used))

    async def _check(self, reported: asyncio.Event, ctx: RunContext) -> None:
        before = Total()
        while True:
            await reported.wait()
            reported.clear()
            total = self._total(ctx.used)
            if total == before:
                continue
            # A report that has begun is finished: the end of the run builds on it.
            reporting = asyncio.ensure_future(db(spending.report, self.run.pk, total))
            try:
                budget = await asyncio.shield(reporting)
            except asyncio.CancelledError:
                await asyncio.wait({reporting})
                raise
            except DatabaseError as error:
                # The next report counts this one as well; without a watch the run would spend on.
                log.warning("budget.not_reported", run=str(self.run.pk), error=str(error))
                continue
            before = total
            if budget is not None and self._reader is not None:
                self.spent = Spent(budget, self.run)
                self._reader.cancel()
                return

    def _total(self, usage: list[Any], result: Any = None) -> Total:
        return spending.total_of(usage, self._prices, result)

    def _raise(self, budget: Budget | None) -> None:
        if budget is not None:
            raise Spent(budget, self.run)


async def _stopped(checker: "asyncio.Task[None]") -> None:
    checker.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait({checker})


def _final_usage(event: Any) -> tuple[list[Any], Any] | None:
    """The usage and result of a terminal event that has either; None for any other event."""
    if not isinstance(event, dict):
        event_type = getattr(event, "type", None)
        if getattr(event_type, "value", event_type) not in ("RUN_FINISHED", "RUN_ERROR"):
            return None
        event = event.model_dump(by_alias=True, exclude_none=True, mode="json")
    elif event.get("type") not in ("RUN_FINISHED", "RUN_ERROR"):
        return None
    usage = event.get("usage")
    return (usage if isinstance(usage, list) else []), event.get("result")
