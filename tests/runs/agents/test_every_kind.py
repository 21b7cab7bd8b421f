"""Of every kind of agent: what it is told goes in, and its middleware sits behind it."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.kinds import http
from agui_host.runtimes.kinds.table import RUNTIMES
from agui_host.runtimes.knowledge import notes
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from tests.cast import Cast, Register, perform, start
from tests.runs.playing import settled
from tests.runtimes.kinds.peers import FINISHED, STARTED, STREAM, Call, peer, text

pytestmark = pytest.mark.django_db(transaction=True)

NOTE = "Refunds need sk-abcdef of a manager."
TOLD = "Refunds need [redacted] of a manager."
AROUND = {
    "middleware": [{"name": "redact", "patterns": ["sk-[a-z]+"]}],
    "context_providers": [{"name": "wisdom"}],
}
COMMAND = "import json; print(json.loads(input())['context'][0]['value'])"


@asynccontextmanager
async def repeating(kind: str, cast: Cast, register: Register) -> AsyncIterator[Agent]:
    """An agent of this kind that says what it was told."""

    async def here(ctx: Any) -> AsyncIterator[str]:
        yield ctx.context[0]["value"]

    async def there(call: Call) -> None:
        await call.raw(STREAM)
        await call.events(STARTED, *text(call.input["context"][0]["value"]), FINISHED)
        await call.chunk(b"")

    def row(target: str = "", **settings: Any) -> Agent:
        made: Agent = Agent.objects.create(
            team=cast.team, slug="s", name="S", kind=kind, target=target,
            settings=settings, **AROUND,
        )  # fmt: skip
        return made

    match kind:
        case "python":
            yield await db(register, "s", here, **AROUND)
        case "http":
            async with peer(there) as far:
                yield await db(row, far.url)
                await http.close()
        case "process":
            yield await db(lambda: row(argv=[sys.executable, "-c", COMMAND], unconfined=True))
        case "orchestrator":
            await db(register, "helper", here)
            yield await db(lambda: row(agents=["helper"]))


@pytest.mark.parametrize("kind", RUNTIMES)
async def test_context_and_middleware(
    cast: Cast, register: Register, writer: JournalWriter, settings: Any, kind: str
) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    await db(notes.write, cast.alice.principal, NOTE)
    async with repeating(kind, cast, register) as agent:
        message = {"id": "u", "role": "user", "content": "How do refunds work?"}
        run = await db(lambda: start(cast.alice, agent, messages=[message]))
        run, log = await settled(await perform(run, writer))
    assert run.status == "succeeded", run.error_message
    words = "".join(event["delta"] for event in log if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert TOLD in words
    assert "sk-abcdef" not in str(log)
