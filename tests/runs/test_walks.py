"""How many functions of ours an act passes. ``pytest -rP tests/runs/test_walks.py`` prints them."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from events.writer import writer as writing
from runs.access import access
from runs.api.interrupts import InterruptAnswer
from runs.lifecycle import admission, answers
from runs.models import Interrupt
from tests.asgi import Exchange, ask, ask_now
from tests.cast import Cast, Register, perform, start
from tests.house.repository import CODE, ROOT
from tests.runs.asking import asking
from tests.runs.walks import Walk

pytestmark = pytest.mark.django_db(transaction=True)


AROUND = (
    "agui_host/backends/epochs", "agui_host/backends/metrics", "agui_host/backends/postgres/",
    "agui_host/web/asgi_http",
    "agui_host/web/bodies", "agui_host/web/gated", "agui_host/web/middleware/",
    "agui_host/web/request_id", "agui_host/errors", "agui_host/links", "agui_host/logs",
    "agui_project/",
)  # fmt: skip
"""What any call to the database (a new connection asks for the epoch) and any answer over HTTP
passes, and what is counted on the way.
"""


def check(walk: Walk, most: int) -> None:
    print(walk)
    assert 0 < len(walk.steps) <= most


def test_one_answer(cast: Cast) -> None:
    asking(cast.alice, "i")
    row = Interrupt.objects.get()
    path = f"/api/v1/interrupts/{row.pk}/answer"
    rooms = ("runs", "agui_host/protocol")
    # From the permission on, up to what every start does alike: validate, take.
    walk = Walk("one answer", rooms=rooms, inside=answers.answer, until=admission.check)
    with walk.recorded():
        answer = ask_now("POST", path, cast.alice.headers, json={"status": "resolved"})
    assert answer.status == 200, answer.body
    assert answer.json["run"], "the answer started a run"
    check(walk, 20)


def test_one_answer_with_all_around_it(cast: Cast) -> None:
    """The same from the API's view to its rendered answer, with permissions, limits and the log."""
    asking(cast.alice, "i")
    row = Interrupt.objects.get()
    path = f"/api/v1/interrupts/{row.pk}/answer"
    ask_now("GET", path.removesuffix("/answer"), cast.alice.headers)  # compiles a key's queries
    with Walk("one answer, all of it", inside=InterruptAnswer.post).recorded() as walk:
        ask_now("POST", path, cast.alice.headers, json={"status": "resolved"})
    check(walk, 134)


async def test_one_post(cast: Cast, bell: None) -> None:
    with Walk("one POST /agui").recorded() as walk:
        async with Exchange("POST", "/agui", cast.alice.headers, json={"messages": []}) as stream:
            walk.pause()
            assert stream.status == 200
    check(walk, 335)


async def test_one_more_post(cast: Cast, bell: None, settings: Settings) -> None:
    """The same once the process has connections, seats and the caller's key.

    The shortest of some, since a thread can need a new connection, and others pass a busy moment.
    """
    settings.AGUI_KEY_CACHE_SECONDS = 5
    post = partial(Exchange, "POST", "/agui", cast.alice.headers, json={"messages": []})
    lengths = []
    with Walk("one more POST /agui").recorded() as walk:
        for _ in range(4):
            walk.forget()
            walk.go_on()
            async with post() as stream:
                walk.pause()
                assert stream.status == 200
                # To the end of its stream, or what it still reads would be walked.
                address = stream.headers["content-location"].removesuffix("events") + "cancel"
                assert (await ask("POST", address, cast.alice.headers)).status == 202
                await stream.rest()
            lengths.append(len(walk.steps))
    print(walk)
    assert 0 < min(lengths) <= 253, lengths


async def test_one_event(
    cast: Cast,
    register: Register,
    writer: JournalWriter,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    """From the agent's yield to the reader's frame."""
    # The hub looks for lost bells: on a busy machine it would find the event before its bell rings.
    settings.AGUI_HUB_TICK = 30.0
    # Not waiting for other runs' deltas, or the host's own chores would be walked meanwhile.
    monkeypatch.setattr(writing, "SPACING", 0.0)
    walk, counted = Walk("one event"), asyncio.Event()

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
        for number, event in enumerate(heard):
            await event.wait()
            yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": f"heard {number}"}
        await joined.wait()
        walk.go_on()
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "counted"}
        await counted.wait()

    joined, heard = asyncio.Event(), [asyncio.Event() for _ in range(4)]
    with walk.recorded():
        walk.pause()
        row = await db(register, "subject", agent)
        run = await db(start, cast.alice, row, threadId="t", runId="r")
        url = f"/api/v1/runs/{run.pk}/events"
        performed = asyncio.create_task(perform(run, writer))
        headers = {**cast.alice.headers, "accept": "text/event-stream"}
        async with Exchange("GET", url, headers) as stream:
            await stream.until(b"TEXT_MESSAGE_START")
            # A reader that joins reads the log until it has caught up.
            for number, event in enumerate(heard):
                event.set()
                await stream.until(b"heard %d" % number)
            joined.set()
            await stream.until(b"counted")
            walk.pause()
            counted.set()
            await stream.until(b"RUN_FINISHED")
        await performed
    check(walk, 84)
    passed = {f"{module}.py" for module in walk.modules if not module.startswith(AROUND)}
    print(f"{len(passed)} files between the agent and the reader")
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    hops = page.split("## Six hops")[1].split("\n## ")[0]
    assert passed <= set(CODE.findall(hops)), "the six hops name every file that an event passes"


def test_one_sharing_check(cast: Cast) -> None:
    run = start(cast.alice)
    access.find(cast.bob.principal, run.pk)  # the first check of a process compiles its query
    with Walk("one sharing check").recorded() as walk:
        access.find(cast.bob.principal, run.pk)
    check(walk, 40)
