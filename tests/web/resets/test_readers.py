"""A reader of a log that went back is told so, in the shape that its format has for errors.

Streams, answers that wait for a run's end, cursors that come back, and a parent's agent.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends import epochs
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunFailed
from agui_host.protocol.wire.fold import PLACES
from events import recheck
from events.hub import hub
from events.writer import JournalWriter
from runs.models import Run
from runs.worker.children import SpawnedRun
from tests.asgi import DEADLINE, ask
from tests.cast import Cast, LiveRun, start
from tests.web.resets.readers import (
    DURABLE,
    ELSEWHERE,
    READERS,
    SSE,
    TANSTACK,
    WEB,
    Reader,
    joins,
)
from tests.web.resets.rewinding import (
    ALL,
    begin,
    filled,
    go_back,
    lose,
    reading,
    rewind,
    started,
)
from tests.web.resets.shapes import HEAD, RESET, core, openai, ours

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(epochs.__file__).parents[2]


def test_no_reader_is_missing() -> None:
    """Each module that follows a log is in the table, or has a test of its own."""
    reads = re.compile(r"(?<![.])\b(?:stream_run|followed|follow|until_end|until_cancelled)\(")
    inner = ("web", "dialects", "dashboard", "backends")
    rooms = ("events", "runs", *(f"agui_host/{room}" for room in inner))
    modules = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    following = {str(path.relative_to(ROOT)) for path in modules if reads.search(path.read_text())}
    assert following == {each.via for each in READERS.values()} | {*ELSEWHERE}


@pytest.mark.parametrize("name", READERS)
async def test_a_reader_is_told(cast: Cast, writer: JournalWriter, name: str) -> None:
    reader = READERS[name]
    live = None
    if not reader.starts:
        live = await begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    headers = {**cast.alice.headers, **reader.headers}
    async with reading(reader, headers, live and live.run) as answer:
        await rewind(live or await started(writer))
        async with asyncio.timeout(DEADLINE):
            status, body = await answer
    shaken_hands = name == "mcp, cancelled"  # Such clients read errors only where all is well.
    assert status == (200 if reader.streams or shaken_hands else 410)
    assert reader.read(body) == RESET


@pytest.mark.parametrize("name", READERS)
async def test_a_reader_of_a_lost_run_is_not_told_that_its_access_ended(
    cast: Cast, writer: JournalWriter, settings: Settings, monkeypatch: Any, name: str
) -> None:
    """The check of its rights finds no run, mostly before the hub looks for its events."""
    settings.AGUI_HUB_TICK = 0.6
    monkeypatch.setattr(recheck, "SOON", 0.2)
    reader = READERS[name]
    live = None
    if not reader.starts:
        live = await begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    headers = {**cast.alice.headers, **reader.headers}
    async with reading(reader, headers, live and live.run) as answer:
        live = live or await started(writer)
        async with asyncio.timeout(DEADLINE):
            while not hub().readers.get(live.run.pk):
                await asyncio.sleep(0)
        await db(lose, live)
        async with asyncio.timeout(DEADLINE):
            _, body = await answer
    assert reader.read(body) == RESET | {"head": 0}


async def test_a_link(cast: Cast, live: LiveRun) -> None:
    what = {"run": str(live.run.pk)}
    grant = (await ask("POST", "/api/v1/grants", cast.alice.headers, json=what)).json
    path = "/shared/" + grant["url"].partition("/shared/")[2].split("/")[0]
    reader = joins(f"{WEB}/shared.py", path + "/runs/{run}/events", core)
    async with reading(reader, {}, live.run) as answer:
        await rewind(live)
        assert core((await answer)[1]) == RESET


async def test_a_long_poll(cast: Cast, live: LiveRun) -> None:
    url = "/api/v1/runs/{run}/stream?offset=now&live=long-poll"
    reader = joins(DURABLE, url, ours)
    async with reading(reader, cast.alice.headers, live.run) as answer:
        await rewind(live)
        status, body = await answer
    assert (status, ours(body)) == (410, RESET)


async def test_a_parents_agent(live: LiveRun) -> None:
    """It reads on in its own process: the message names what happened to which agent's run."""
    run = await db(Run.objects.select_related("agent", "thread").get, pk=live.run.pk)
    child = SpawnedRun(run)
    types = [(await anext(child))["type"] for _ in range(ALL)]
    assert types[0] == "RUN_STARTED"
    ending = asyncio.create_task(child.end())
    await rewind(live)
    with pytest.raises(RunFailed, match="Agent 'echo': The database lost the newest events"):
        await ending


BEYOND = ALL * PLACES
RETURNS: dict[str, tuple[Reader, str]] = {
    "responses": (
        joins("", f"/v1/responses/resp_{{hex}}?stream=true&starting_after={BEYOND}", openai), ""
    ),
    "alpine": (joins("", "/runs/{run}/events", ours, headers=SSE), "4"),
    "tanstack": (joins("", TANSTACK, ours), "4"),
    "tanstack, offset": (joins("", "/agui/agent/echo/run?runId=r&offset=4", ours), ""),
    "threads": (joins("", "/agui/threads/t/events?cursor={run}:4", ours), ""),
    "page": (joins("", "/api/v1/runs/{run}/events?after=4", ours), ""),
    "durable streams": (joins("", f"/api/v1/runs/{{run}}/stream?offset={4:016}", ours), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", RETURNS)
async def test_a_cursor_that_comes_back(cast: Cast, live: LiveRun, name: str) -> None:
    reader, cursor = RETURNS[name]
    url, _ = filled(reader, live.run)
    headers = {**cast.alice.headers, **reader.headers}
    headers |= {"last-event-id": cursor} if cursor else {}
    await db(go_back, live, HEAD)
    answer = await ask("GET", url, headers)
    assert answer.status == 410, answer.body
    assert reader.read(answer.body) == RESET
    epochs.latest = epochs.FIRST
    refused = await ask("GET", url, headers)
    assert (refused.status, refused.json["error"]["code"]) == (400, "bad_cursor")
