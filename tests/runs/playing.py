"""An agent played to its end, and what must be true of every end."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.schema import TERMINAL
from events.writer import JournalWriter
from runs.lifecycle import statuses
from runs.models import Run
from tests.cast import Cast, Register, log_of, perform, start

SECRET = "postgres://admin:hunter2@db/prod"
PREFIX = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "so far so good"},
]
Play = Callable[..., Awaitable[tuple[Run, list[dict[str, Any]]]]]


@pytest.fixture
def play(cast: Cast, register: Register, writer: JournalWriter) -> Play:
    """Run an agent to its end: the run, and its log, which has exactly one terminal event."""

    async def played(target: Any, **fields: Any) -> tuple[Run, list[dict[str, Any]]]:
        agent = await db(register, "subject", target, **fields)
        run = await db(start, cast.alice, agent, threadId="t", runId="r")
        return await settled(await perform(run, writer))

    return played


async def settled(run: Run) -> tuple[Run, list[dict[str, Any]]]:
    log = await db(log_of, run)
    assert log[0]["type"] == "RUN_STARTED"
    assert [e["type"] for e in log].count("RUN_STARTED") == 1
    ends = [event for event in log if event["type"] in TERMINAL]
    assert ends == log[-1:], "exactly one terminal event, and nothing behind it"
    assert run.status == statuses.status_of(log[-1])
    assert run.ended_at is not None
    assert run.journal.closed_at is not None
    return run, log


def failure(run: Run, log: list[dict[str, Any]]) -> tuple[str, str]:
    """Code and message, the same in the log and in the row, and safe to show."""
    assert log[-1]["type"] == "RUN_ERROR"
    assert (run.error_code, run.error_message) == (log[-1]["code"], log[-1]["message"])
    for event in log:
        assert "hunter2" not in str(event)
        assert "Traceback" not in str(event)
    return run.error_code, run.error_message


def after_prefix(*then: Any, fail: BaseException | None = None) -> Any:
    """An agent that begins well."""

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        for event in (*PREFIX, *then):
            yield event
        if fail:
            raise fail

    return agent


def kept_prefix(log: list[dict[str, Any]]) -> bool:
    """The valid beginning stays, and the message it opened is closed."""
    first_events = [(e["type"], e.get("messageId"), e.get("delta")) for e in log[1:4]]
    return first_events == [
        ("TEXT_MESSAGE_START", "m", None),
        ("TEXT_MESSAGE_CONTENT", "m", "so far so good"),
        ("TEXT_MESSAGE_END", "m", None),
    ]
