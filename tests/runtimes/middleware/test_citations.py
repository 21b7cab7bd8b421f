"""``citations``: the state it keeps, what it lets pass at once, and what waits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from agui_host import RunContext
from agui_host.runtimes.middleware import citations
from tests.runtimes.middleware.citing import (
    BAD,
    CITE,
    FAILED,
    FINISHED,
    GOOD,
    Held,
    chain,
    folded,
    key_of,
    message_of,
)
from tests.runtimes.middleware.passing import (
    Wire,
    custom,
    first,
    passed,
    stream_of,
    text,
    text_message,
    types,
    until_it_breaks,
)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Held:
    verifier = Held()
    monkeypatch.setitem(citations.VERIFIERS, "local", lambda options, ctx: verifier)
    return verifier


# --- the state


async def test_the_state_has_the_shape_of_the_document() -> None:
    events = await passed(chain(), *text_message("m", GOOD, BAD), FINISHED)
    good, bad = key_of(GOOD), key_of(BAD)
    tree = folded(events)["deepcitation"]
    assert tree.keys() == {"citations", "verifications", "messages"}
    message = tree["messages"]["m"]
    assert message.keys() == {"messageId", "citations", "verifications", "summary", "status"}
    assert message["messageId"] == "m"
    assert message["summary"] == {
        "total": 2, "verified": 1, "partial": 0, "missed": 1, "pending": 0,
    }  # fmt: skip
    assert message["status"] == "complete"
    assert message["citations"].keys() == tree["citations"].keys() == {good, bad}
    assert tree["verifications"][good]["status"] == "verified"
    assert message["verifications"][bad]["status"] == "missed"


async def test_the_subtree_is_added_whole_then_one_delta_per_result() -> None:
    events = await passed(chain(), *text_message("m", GOOD), *text_message("n", BAD), FINISHED)
    deltas = [event["delta"] for event in events if event["type"] == "STATE_DELTA"]
    assert [op["path"] for op in deltas[0]] == ["/deepcitation"]
    assert deltas[0][0]["op"] == "add"
    results = [d for d in deltas if any("/verifications/" in op["path"] for op in d)]
    assert len(results) == 2
    statuses = [op["value"] for d in deltas for op in d if op["path"].endswith("m/status")]
    assert statuses == ["extracting", "verifying", "complete"]


async def test_text_passes_untouched_and_at_once(slow: Held) -> None:
    pieces = text_message("m", GOOD[:20], GOOD[20:], BAD)
    stream = chain().stream(silent_after(*pieces))
    received: list[Wire] = []
    async with aclosing(stream):
        async for event in stream:
            received.append(event)
            if event["type"] == "TEXT_MESSAGE_END":
                break
    assert [event for event in received if event["type"] != "STATE_DELTA"] == pieces
    assert "TEXT_MESSAGE_START" in types(received)[:1]


async def silent_after(*events: Wire) -> AsyncGenerator[Wire, None]:
    async for event in stream_of(*events):
        yield event
    await asyncio.Event().wait()


async def test_verification_begins_while_the_text_is_still_coming(slow: Held) -> None:
    begin, *pieces, _ = text_message("m", GOOD, " and more")
    slow.gate.set()
    stream = chain().stream(silent_after(begin, *pieces))
    received: list[Wire] = []
    async with aclosing(stream):
        async for event in stream:
            received.append(event)
            if "/verifications/" in str(event):
                break
    message = message_of(received)
    assert message["status"] == "streaming"
    assert message["summary"]["verified"] == 1
    assert "TEXT_MESSAGE_END" not in types(received)


async def test_citations_are_verified_concurrently(slow: Held) -> None:
    quotes = [f' "quote number {n}" [1]' for n in range(citations.AT_ONCE)]

    async def released() -> None:
        while len(slow.quotes) < len(quotes):
            await asyncio.sleep(0)
        slow.gate.set()

    releasing = asyncio.create_task(released())
    events = await asyncio.wait_for(passed(chain(), *text_message("m", *quotes), FINISHED), 20)
    await releasing
    assert message_of(events)["summary"]["verified"] == len(quotes)


async def test_the_subtree_is_merged_into_every_snapshot() -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"mine": 1, "deepcitation": "agent's"}}
    begin, delta, end = text_message("m", GOOD)
    events = await passed(chain(), begin, snapshot, delta, snapshot, end, snapshot, FINISHED)
    merged = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    assert [s["mine"] for s in merged] == [1, 1, 1]
    assert all("m" in s["deepcitation"]["messages"] for s in merged)
    assert message_of(events)["status"] == "complete"
    assert folded(events)["mine"] == 1


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/deepcitation"},
        {"op": "replace", "path": "/deepcitation/messages/m/status", "value": "forged"},
        {"op": "move", "from": "/deepcitation/messages", "path": "/stolen"},
    ],
    ids=lambda operation: operation["op"],
)
async def test_the_agent_does_not_write_under_the_key(operation: Wire) -> None:
    mine = {"op": "add", "path": "/mine", "value": 1}
    begin, delta, end = text_message("m", GOOD)
    foreign = [
        {"type": "STATE_DELTA", "delta": [operation, mine]},
        {"type": "STATE_DELTA", "delta": [operation]},
    ]
    events = await passed(chain(), begin, *foreign, delta, end, FINISHED)
    deltas = [event for event in events if event["type"] == "STATE_DELTA"]
    assert [d["delta"] for d in deltas if mine in d["delta"]] == [[mine]]
    assert "stolen" not in folded(events)
    assert operation not in [each for event in deltas for each in event["delta"]]
    state = folded(events)
    assert (state["mine"], state["deepcitation"]["messages"]["m"]["status"]) == (1, "complete")


async def test_other_state_is_never_touched() -> None:
    state = {"a": {"b": [1]}, "messages": {"m": 5}, "citations": "mine"}
    events = await passed(chain(state=state), *text_message("m", GOOD, BAD), FINISHED)
    after = folded(events, state)
    after.pop("deepcitation")
    assert after == state
    for event in events:
        for op in event["delta"] if event["type"] == "STATE_DELTA" else ():
            assert op["path"].startswith("/deepcitation")


@pytest.mark.parametrize("state", [None, [], "text"])
async def test_a_state_that_is_no_object_is_left_alone(state: Any) -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"now": 1}}
    events = await passed(chain(state=state), *text_message("m", GOOD), FINISHED)
    assert "STATE_DELTA" not in types(events)
    whole = {"op": "replace", "path": "", "value": {"x": 1}}
    delta = {"type": "STATE_DELTA", "delta": [whole]}
    for late in (snapshot, delta):
        begin, *rest = text_message("m", GOOD)
        events = await passed(chain(state=state), begin, late, *rest, FINISHED)
        assert "STATE_DELTA" in types(events)


async def test_the_key_is_configurable() -> None:
    events = await passed(chain({**CITE, "key": "my/cites"}), *text_message("m", GOOD), FINISHED)
    assert folded(events)["my/cites"]["messages"]["m"]["status"] == "complete"


# --- how it ends


async def test_the_terminal_event_waits_for_verification(slow: Held) -> None:
    stream = chain().stream(stream_of(*text_message("m", GOOD), FINISHED))
    async with aclosing(stream):
        received = await first(stream, 7)
        assert types(received)[-2:] == ["STATE_DELTA", "STATE_DELTA"]
        waiting = asyncio.ensure_future(anext(stream))
        await slow.began.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        slow.gate.set()
        received += [await waiting, *[event async for event in stream]]
    assert received[-1] == FINISHED
    assert message_of(received)["status"] == "complete"
    assert slow.closed


async def test_it_does_not_wait_for_ever(slow: Held) -> None:
    entry = {**CITE, "timeout": 0.05}
    events = await asyncio.wait_for(passed(chain(entry), *text_message("m", GOOD), FINISHED), 20)
    assert events[-1] == FINISHED
    assert message_of(events)["status"] == "error"
    assert message_of(events)["summary"]["pending"] == 1
    assert slow.cancelled
    assert slow.closed


CANCELLED = {**FINISHED, "outcome": {"type": "cancelled"}}


@pytest.mark.parametrize("terminal", [FAILED, CANCELLED], ids=["error", "cancelled"])
async def test_an_error_or_a_cancel_waits_for_nothing(slow: Held, terminal: Wire) -> None:
    events = await asyncio.wait_for(passed(chain(), *text_message("m", GOOD), terminal), 20)
    assert events[-1] == terminal
    assert message_of(events)["status"] == "error"
    assert slow.cancelled


async def test_an_agent_that_raises_waits_for_nothing(slow: Held) -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        async for event in stream_of(*text_message("m", GOOD)):
            yield event
        raise RuntimeError("broken")

    events = await asyncio.wait_for(until_it_breaks(chain(), agent()), 20)
    assert message_of(events)["status"] == "error"
    assert slow.closed


async def test_more_behind_the_terminal_event_is_not_waited_for(slow: Held) -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        async for event in stream_of(*text_message("m", GOOD), FINISHED):
            yield event
        while True:
            yield custom()

    slow.gate.set()
    events = await asyncio.wait_for(passed_through(agent()), 20)
    assert events[-1] == FINISHED
    assert message_of(events)["status"] == "complete"


async def passed_through(events: AsyncGenerator[Wire, None]) -> list[Wire]:
    async with aclosing(chain().stream(events)) as stream:
        return [event async for event in stream]


async def test_a_message_left_open_ends_with_the_run() -> None:
    events = await passed(chain(), *text_message("m", GOOD)[:-1])
    assert message_of(events)["status"] == "complete"


# --- events for and from people


async def test_lifecycle_events_name_keys_and_no_content() -> None:
    events = await passed(chain({"name": "citations"}), *text_message("m", GOOD), FINISHED)
    custom_events = [(e["name"], e["value"]) for e in events if e["type"] == "CUSTOM"]
    about = {"messageId": "m", "citation": key_of(GOOD)}
    assert custom_events == [
        ("deepcitation.citation_seen", about),
        ("deepcitation.evidence_ready", {**about, "status": "verified"}),
        ("deepcitation.message_complete", {"messageId": "m", "status": "complete"}),
    ]


async def test_reviews_come_in_through_the_state_once() -> None:
    entry = {"name": "citations"}
    state = folded(await passed(chain(entry), *text_message("m", GOOD), FINISHED))
    review = {"messageId": "m", "citation": key_of(GOOD), "action": "open"}
    rubbish = [5, {}, {**review, "citation": "x"}, {**review, "action": "sell"}, {"messageId": []}]
    state["deepcitation"]["reviews"] = [review, *rubbish]
    events = await passed(chain(entry, state=state), text("x", "unknown"))
    reviews = [e["value"] for e in events if e.get("name") == "deepcitation.review"]
    assert reviews == [review]
    after = folded(events, state)
    assert "reviews" not in after["deepcitation"]
    assert after["deepcitation"]["messages"]["m"]["status"] == "complete"
    assert RunContext({"state": after}).body["state"] == after
