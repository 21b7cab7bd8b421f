"""``?raw=false``: a reader who wants neither RAW events nor what agents hang on events."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Exchange, ask, ask_now, events_of
from tests.cast import Cast, Register, log_of, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

SSE = {"accept": "text/event-stream"}
OURS = "upstream-only"
EVENTS: list[dict[str, Any]] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "rawEvent": {"from": OURS}},
    {"type": "RAW", "event": {"from": OURS}},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 'says "rawEvent" and "RAW"'},
    {"type": "RAW", "event": OURS, "source": "elsewhere"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "RAW", "event": OURS},
    {"type": "RUN_FINISHED", "rawEvent": OURS},
]
LEFT = ["RUN_STARTED", *(f"TEXT_MESSAGE_{part}" for part in ("START", "CONTENT", "END"))]
LEFT = [*LEFT, "RUN_FINISHED"]


async def talk(ctx: Any) -> Any:
    for event in EVENTS:
        yield event


async def test_of_a_stream_positions_stay_and_the_cursor_moves(
    cast: Cast, writer: JournalWriter, register: Register
) -> None:
    agent = await db(register, "talk", talk)
    run = await perform(await db(start, cast.alice, agent), writer)
    stored = list(enumerate(await db(log_of, run), 1))
    url = f"/api/v1/runs/{run.pk}/events"
    whole = await ask("GET", url, {**cast.vera.headers, **SSE})
    assert events_of(whole.body) == stored
    bare = await ask("GET", f"{url}?raw=false&after=0", {**cast.vera.headers, **SSE})
    assert OURS.encode() not in bare.body
    left = events_of(bare.body)
    assert [event["type"] for _, event in left] == LEFT
    for seq, event in left:
        assert event == {k: v for k, v in stored[(seq or 0) - 1][1].items() if k != "rawEvent"}
    # The id of an event that is left out goes with the next block, so none is without data.
    assert bare.body.count(b"\nid: 7\n") == 1
    assert b"\n\nid: 7\n\n" not in bare.body


async def test_of_the_answer_to_a_post(
    cast: Cast, writer: JournalWriter, register: Register
) -> None:
    await db(register, "talk", talk)
    url = "/agui/agent/talk/run?raw=false"
    async with Exchange("POST", url, cast.bob.headers, json={"runId": "r"}) as exchange:
        await perform(await db(Run.objects.get), writer)
        body = await exchange.rest()
    assert OURS.encode() not in body
    assert [event["type"] for _, event in events_of(body)] == LEFT


async def test_of_json_pages(cast: Cast, writer: JournalWriter, register: Register) -> None:
    agent = await db(register, "talk", talk)
    run = await perform(await db(start, cast.alice, agent), writer)
    url = f"/api/v1/runs/{run.pk}/events?raw=false"
    page = (await ask("GET", url, cast.vera.headers)).json
    assert [entry["event"]["type"] for entry in page["events"]] == LEFT
    assert OURS not in str(page)
    only_raw = (await ask("GET", f"{url}&after=2&limit=1", cast.vera.headers)).json
    assert (only_raw["events"], only_raw["after"], only_raw["ended"]) == ([], 3, True)


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_nothing_else_can_be_asked(cast: Cast, accept: str) -> None:
    run = start(cast.alice)
    url = f"/api/v1/runs/{run.pk}/events?raw=no"
    answer = ask_now("GET", url, {**cast.alice.headers, "accept": accept})
    assert (answer.status, answer.code) == (422, "invalid")
