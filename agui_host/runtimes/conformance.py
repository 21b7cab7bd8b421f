"""Conformance: runs an agent once through intake, and reports what intake found.

Writes nothing. A remote agent is read as a stock client reads it, and must send its own
RUN_STARTED, ids and terminal event; an agent in code may leave those to the host.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import uuid6

from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.findings import Finding
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.schema import PROTOCOL_VERSION
from agui_host.runtimes import registry
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.kinds.python import PythonRuntime
from agui_host.runtimes.kinds.table import runtime_for

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent


@dataclass(slots=True)
class Report:
    """``events`` stored by type, ``findings`` by (rule, action), ``failure`` if there was one."""

    events: Counter[str] = field(default_factory=Counter)
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    failure: str | None = None

    @property
    def verdict(self) -> str:
        """``conforms``, ``repaired`` (a stock client needs this host for it) or ``fails``."""
        if self.failure is not None:
            return "fails"
        return "repaired" if self.findings else "conforms"

    def find(self, rule: str, action: str) -> None:
        """Add a finding that intake cannot make."""
        self.findings[rule, action] += 1

    def take(self, records: list[Record]) -> None:
        """Count stored events. An agent that ends with an error fails, however orderly."""
        for record in records:
            self.events[record.type] += 1
            if record.type == "RUN_ERROR":
                error = patient_json.loads(record.payload)
                self.failure = f"{error.get('code') or 'RUN_ERROR'}: {error['message']}"

    def add(self, findings: list[Finding]) -> None:
        """Add intake's findings."""
        for finding in findings:
            self.findings[finding.rule, finding.action] += finding.times


def body(message: str) -> dict[str, Any]:
    """A RunAgentInput of one user message, on a new thread."""
    return {
        "threadId": str(uuid6.uuid7()),
        "runId": str(uuid6.uuid7()),
        "protocolVersion": PROTOCOL_VERSION,
        "messages": [{"id": str(uuid6.uuid7()), "role": "user", "content": message}],
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


def local(slug: str, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
    """The events of an agent registered in this process. Raises RunFailed if there is none."""
    return PythonRuntime(registry.get(slug)).run(RunContext(body, agent=slug))


def stored(row: "Agent", body: dict[str, Any]) -> AsyncGenerator[Any, None]:
    """The events of a team's agent, before its middleware, as a worker on this machine gets them.

    Raises RunFailed.
    """
    row.settings = kinds.of(row.kind).tidy(row.settings)
    ctx = RunContext(body, agent=row.slug, settings=row.settings, team=str(row.team_id))
    return runtime_for(row).run(ctx)


async def remote(
    url: str,
    body: dict[str, Any],
    headers: Mapping[str, str],
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[Any, None]:
    """The events of an AG-UI endpoint. Raises RunFailed for anything a stock client cannot read."""
    request_headers = {"Accept": "text/event-stream", **headers}
    try:
        # The caller bounds the whole run; an agent may think for long between two events.
        async with (
            httpx.AsyncClient(timeout=None, transport=transport) as client,  # noqa: S113
            client.stream("POST", url, json=body, headers=request_headers) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise RunFailed(RunErrorCode.UPSTREAM_HTTP, f"HTTP {response.status_code}")
            async for data in _frames(response.aiter_bytes()):
                yield _event(data)
    except httpx.HTTPError as error:
        raise RunFailed(RunErrorCode.UPSTREAM_CLOSED, f"{type(error).__name__}: {error}") from None


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The ``data`` of each server-sent event."""
    rest, data = b"", []
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.endswith(b"\r"):
                raise RunFailed(RunErrorCode.UPSTREAM_HTTP, "lines end in CR LF instead of LF")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []
    if rest.startswith(b"data:"):
        data.append(rest[5:].removeprefix(b" "))
    if data:
        yield b"\n".join(data)


def _event(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        excerpt = data[:80].decode(errors="replace")
        raise RunFailed(RunErrorCode.UPSTREAM_HTTP, f"a frame is not JSON: {excerpt}") from None


async def judge(
    events: AsyncGenerator[Any, None], body: dict[str, Any], *, alone: bool, timeout: float
) -> Report:
    """Take the events in until they end. ``alone``: no host adds missing events."""
    report, intake = Report(), Intake(body["threadId"], body["runId"], input=body)
    try:
        async with asyncio.timeout(timeout), aclosing(events):
            async for event in events:
                if alone:
                    _look(report, event, body, first=not intake.started)
                if intake.ended:
                    report.find("V3", "dropped")
                else:
                    report.take(intake.accept(event))
        if alone and not intake.ended:
            report.find("terminal", "added")
        report.take(intake.finish())
    except RunFailed as failed:
        report.failure = failed.message
    except TimeoutError:
        report.failure = f"the run took longer than {timeout:g} seconds"
    except Exception as error:
        report.failure = f"the agent raised {type(error).__name__}: {error}"
    report.add(intake.take_findings())
    return report


def _look(report: Report, event: Any, body: dict[str, Any], *, first: bool) -> None:
    """Report what intake silently corrects for agents that run inside this host."""
    kind = event.get("type") if isinstance(event, dict) else None
    if first and kind not in ("RUN_STARTED", "RUN_ERROR"):
        report.find("V1", "inserted_start")
    if kind in ("RUN_STARTED", "RUN_FINISHED"):
        ids = {key: event.get(key) for key in ("threadId", "runId")}
        if ids != {key: body[key] for key in ids}:
            report.find("ids", "corrected")
