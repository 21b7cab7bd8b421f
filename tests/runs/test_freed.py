"""What a run kept is freed with its end, and not by a later collection of garbage."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from tests.cast import Cast, Register, perform, start

VALUES = 54_321
"""The size of a list that only these runs have."""


def remaining() -> int:
    """Lists of that size, and larger ones."""
    return sum(type(each) is list and len(each) >= VALUES for each in gc.get_objects())


async def ends(ctx: Any) -> AsyncIterator[Any]:
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"a": [[]] * VALUES}}
    yield {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/-", "value": 1}]}


async def copies_too_much(ctx: Any) -> AsyncIterator[Any]:
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * VALUES}}
    copies = [{"op": "copy", "from": "/a", "path": f"/b{n}"} for n in range(2_000)]
    yield {"type": "STATE_DELTA", "delta": copies}


async def raises(ctx: Any) -> AsyncIterator[Any]:
    yield {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": "m",
        "activityType": "p",
        "content": {"a": [0] * VALUES},
    }
    raise ValueError("no")


@pytest.mark.parametrize(
    ("agent", "status"),
    [
        (ends, "succeeded"),
        (copies_too_much, "succeeded"),
        (raises, "failed"),
    ],
)
async def test_no_value_waits_for_the_collector(
    cast: Cast, register: Register, writer: JournalWriter, agent: Any, status: str
) -> None:
    row = await db(register, "subject", agent)
    run = await db(start, cast.alice, row, threadId="t", runId="r")
    gc.collect()
    gc.disable()
    try:
        run = await perform(run, writer)
        assert run.status == status
        await asyncio.sleep(0)  # its last future is the loop's for as long as that
        assert remaining() == 0
    finally:
        gc.enable()
