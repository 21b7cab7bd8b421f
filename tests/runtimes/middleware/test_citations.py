"""``citations``: the state it keeps, what it lets pass at once, and what waits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from runtimes import RunContext
from runtimes.middleware import citations
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
    given,
    passed,
    said,
    text,
    types,
    until_it_breaks,
)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    found = Held()
    monkeypatch.setitem(citations.VERIFIERS, "local", lambda options, ctx: found)
    return found


# --- the state


async def test_the_state_has_the_shape_of_the_document() -> None:
    events = await passed(chain(), *said("m", GOOD, BAD), FINISHED)
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
    events = await passed(chain(), *said("m", GOOD), *said("n", BAD), FINISHED)
    deltas = [event["delta"] for event in events if event["type"] == "STATE_DELTA"]
    assert [op["path"] for op in deltas[0]] == ["/deepcitation"]
    assert deltas[0][0]["op"] == "add"
    results = [d for d in deltas if any("/verifications/" in op["path"] for op in d)]
    assert len(results) == 2
    statuses = [op["value"] for d in deltas for op in d if op["path"].endswith("m/status")]
    assert statuses == ["extracting", "verifying", "complete"]


async def test_text_passes_untouched_and_at_once(held: Held) -> None:
    pieces = said("m", GOOD[:20], GOOD[20:], BAD)
    stream = chain().stream(silent_after(*pieces))
    found: list[Wire] = []
    async with aclosing(stream):
        async for event in stream:
            found.append(event)
            if event["type"] == "TEXT_MESSAGE_END":
                break
    assert [event for event in found if event["type"] != "STATE_DELTA"] == pieces
    assert "TEXT_MESSAGE_START" in types(found)[:1]


async def silent_after(*events: Wire) -> AsyncGenerator[Wire, None]:
    async for event in given(*events):
        yield event
    await asyncio.Event().wait()


async def test_verification_begins_while_the_text_is_still_coming(held: Held) -> None:
    begin, *pieces, _ = said("m", GOOD, " and more")
    held.gate.set()
    stream = chain().stream(silent_after(begin, *pieces))
    found: list[Wire] = []
    async with aclosing(stream):
        async for event in stream:
            found.append(event)
            if "/verifications/" in str(event):
                break
    message = message_of(found)
    assert message["status"] == "streaming"
    assert message["summary"]["verified"] == 1
    assert "TEXT_MESSAGE_END" not in types(found)


async def test_citations_are_verified_concurrently(held: Held) -> None:
    quotes = [f' "quote number {n}" [1]' for n in range(citations.AT_ONCE)]

    async def released() -> None:
        while len(held.asked) < len(quotes):
            await asyncio.sleep(0)
        held.gate.set()

    releasing = asyncio.create_task(released())
    events = await asyncio.wait_for(passed(chain(), *said("m", *quotes), FINISHED), 20)
    await releasing
    assert message_of(events)["summary"]["verified"] == len(quotes)


async def test_the_subtree_is_merged_into_every_snapshot() -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"mine": 1, "deepcitation": "agent's"}}
    begin, delta, end = said("m", GOOD)
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
    begin, delta, end = said("m", GOOD)
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
    events = await passed(chain(state=state), *said("m", GOOD, BAD), FINISHED)
    after = folded(events, state)
    after.pop("deepcitation")
    assert after == state
    for event in events:
        for op in event["delta"] if event["type"] == "STATE_DELTA" else ():
            assert op["path"].startswith("/deepcitation")


@pytest.mark.parametrize("state", [None, [], "text"])
async def test_a_state_that_is_no_object_is_left_alone(state: Any) -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"now": 1}}
    events = await passed(chain(state=state), *said("m", GOOD), FINISHED)
    assert "STATE_DELTA" not in types(events)
    whole = {"op": "replace", "path": "", "value": {"x": 1}}
    delta = {"type": "STATE_DELTA", "delta": [whole]}
    for late in (snapshot, delta):
        begin, *rest = said("m", GOOD)
        events = await passed(chain(state=state), begin, late, *rest, FINISHED)
        assert "STATE_DELTA" in types(events)


async def test_the_key_is_configurable() -> None:
    events = await passed(chain({**CITE, "key": "my/cites"}), *said("m", GOOD), FINISHED)
    assert folded(events)["my/cites"]["messages"]["m"]["status"] == "complete"


# --- how it ends


async def test_the_terminal_event_waits_for_verification(held: Held) -> None:
    stream = chain().stream(given(*said("m", GOOD), FINISHED))
    async with aclosing(stream):
        found = await first(stream, 7)
        assert types(found)[-2:] == ["STATE_DELTA", "STATE_DELTA"]
        waiting = asyncio.ensure_future(anext(stream))
        await held.began.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        held.gate.set()
        found += [await waiting, *[event async for event in stream]]
    assert found[-1] == FINISHED
    assert message_of(found)["status"] == "complete"
    assert held.closed


async def test_it_does_not_wait_for_ever(held: Held) -> None:
    entry = {**CITE, "timeout": 0.05}
    events = await asyncio.wait_for(passed(chain(entry), *said("m", GOOD), FINISHED), 20)
    assert events[-1] == FINISHED
    assert message_of(events)["status"] == "error"
    assert message_of(events)["summary"]["pending"] == 1
    assert held.cancelled
    assert held.closed


CANCELLED = {**FINISHED, "outcome": {"type": "cancelled"}}


@pytest.mark.parametrize("terminal", [FAILED, CANCELLED], ids=["error", "cancelled"])
async def test_an_error_or_a_cancel_waits_for_nothing(held: Held, terminal: Wire) -> None:
    events = await asyncio.wait_for(passed(chain(), *said("m", GOOD), terminal), 20)
    assert events[-1] == terminal
    assert message_of(events)["status"] == "error"
    assert held.cancelled


async def test_an_agent_that_raises_waits_for_nothing(held: Held) -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        async for event in given(*said("m", GOOD)):
            yield event
        raise RuntimeError("broken")

    events = await asyncio.wait_for(until_it_breaks(chain(), agent()), 20)
    assert message_of(events)["status"] == "error"
    assert held.closed


async def test_more_behind_the_terminal_event_is_not_waited_for(held: Held) -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        async for event in given(*said("m", GOOD), FINISHED):
            yield event
        while True:
            yield custom()

    held.gate.set()
    events = await asyncio.wait_for(passed_through(agent()), 20)
    assert events[-1] == FINISHED
    assert message_of(events)["status"] == "complete"


async def passed_through(events: AsyncGenerator[Wire, None]) -> list[Wire]:
    async with aclosing(chain().stream(events)) as stream:
        return [event async for event in stream]


async def test_a_message_left_open_ends_with_the_run() -> None:
    events = await passed(chain(), *said("m", GOOD)[:-1])
    assert message_of(events)["status"] == "complete"


# --- events for and from people


async def test_lifecycle_events_name_keys_and_no_content() -> None:
    events = await passed(chain({"name": "citations"}), *said("m", GOOD), FINISHED)
    found = [(e["name"], e["value"]) for e in events if e["type"] == "CUSTOM"]
    about = {"messageId": "m", "citation": key_of(GOOD)}
    assert found == [
        ("deepcitation.citation_seen", about),
        ("deepcitation.evidence_ready", {**about, "status": "verified"}),
        ("deepcitation.message_complete", {"messageId": "m", "status": "complete"}),
    ]


async def test_reviews_come_in_through_the_state_once() -> None:
    entry = {"name": "citations"}
    state = folded(await passed(chain(entry), *said("m", GOOD), FINISHED))
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
