"""The test of a remote agent: one short run of it, of which the host stores nothing."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any

from django.core.cache import cache

from agui_host.errors import Overloaded
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes import conformance
from agui_host.runtimes.conformance import Report
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import http
from agui_host.runtimes.kinds.http import HttpRuntime, Timeouts
from agui_host.security.addresses import check_url
from agui_host.teams.authentication import Principal

SECONDS = 15.0
"""Of a test, in which a thread of the web process waits."""
AT_ONCE = 4
"""Tests in one process; a team has one in all of them."""
MOST_EVENTS, MOST_BYTES = 2_000, 2_000_000
LONGEST_TEXT = 400
MESSAGE = "Hello"
_places = BoundedSemaphore(AT_ONCE)


class Busy(Overloaded):
    """Another test is running; try again in some seconds."""


@dataclass(slots=True)
class Finding:
    """The verdict of ``conformance`` on a run, and the beginning of the agent's text."""

    report: Report
    milliseconds: float
    text: str = ""

    @property
    def events(self) -> int:
        return sum(self.report.events.values())

    @property
    def rules(self) -> list[str]:
        """The rules of AG-UI that it broke."""
        return sorted({f"{rule} {action}" for rule, action in self.report.findings})


@dataclass(slots=True)
class _Volume:
    """The events of a tested agent so far."""

    events: int = 0
    size: int = 0
    text: list[str] = field(default_factory=list)

    def take(self, event: Any) -> None:
        """Count an event. Raises RunFailed for an agent that sends too much for a test."""
        self.events += 1
        self.size += len(str(event))
        if self.events > MOST_EVENTS or self.size > MOST_BYTES:
            raise RunFailed(RunErrorCode.EVENT_TOO_LARGE, "it sends too much for a test")
        if isinstance(event, dict) and str(event.get("type", "")).startswith("TEXT_MESSAGE_C"):
            self.text.append(str(event.get("delta", "")))


def test(principal: Principal, url: str, headers: Mapping[str, str | None]) -> Finding:
    """Send a message to the agent at ``url`` and judge its events. Blocks for ``SECONDS`` at most.

    The request passes the outbound guard. Raises Forbidden, AddressRefused, Busy.
    """
    principal.require("manage_agents")
    check_url(url)
    key = f"agent-test:{principal.team.pk}"
    if not _places.acquire(blocking=False):
        raise Busy
    try:
        if not cache.add(key, 1, SECONDS + 5):
            raise Busy
        try:
            return asyncio.run(_run(url, {name: text for name, text in headers.items() if text}))
        finally:
            cache.delete(key)
    finally:
        _places.release()


async def _run(url: str, headers: Mapping[str, str]) -> Finding:
    body, volume, began = conformance.body(MESSAGE), _Volume(), time.monotonic()
    limits = Timeouts(connect_seconds=5.0, idle_seconds=SECONDS, event_seconds=SECONDS)
    events = HttpRuntime(url, headers, limits).run(RunContext(body))
    try:
        report = await conformance.judge(
            _bounded(events, volume), body, alone=True, timeout=SECONDS
        )
    finally:
        await http.close()
    text = " ".join("".join(volume.text).split())[:LONGEST_TEXT]
    return Finding(report, 1000 * (time.monotonic() - began), text)


async def _bounded(events: AsyncGenerator[Any, None], volume: _Volume) -> AsyncGenerator[Any, None]:
    async for event in events:
        volume.take(event)
        yield event
