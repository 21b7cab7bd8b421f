"""The gate: bounded, fair between callers, quick to refuse, and it never loses a slot."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.errors import Overloaded
from agui_host.web.asgi_http import GATE, Request
from agui_host.web.gate import LONG, Gate, Recent, Slot


@asynccontextmanager
async def entering(gate: Gate, *callers: str, kind: str = "start") -> AsyncIterator[list[Slot]]:
    """Requests that come in this order; the list has the slots of those that are in."""
    slots: list[Slot] = []

    async def come(caller: str) -> None:
        slots.append(await gate.enter(caller, kind))

    tasks = [asyncio.create_task(come(caller)) for caller in callers]
    await settle()
    yield slots
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_caller_holds_half_of_the_slots() -> None:
    gate = Gate(4)
    async with entering(gate, *"aaaaa") as of_a, entering(gate, "b") as of_b:
        assert (len(of_a), len(of_b)) == (2, 1)
        of_a[0].release()
        of_a[0].release()  # twice is once
        await settle()
        assert len(of_a) == 3


async def test_a_caller_of_long_requests_holds_a_quarter_beside_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A team and the address of its links' visitors leave half of the slots to others."""
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    monkeypatch.setattr("agui_host.web.gate.LONGEST_REST", 0.0)
    gate = Gate(8)
    for caller in ("team", "address"):
        gate._recent_seconds.count(caller, 2 * LONG)
    async with entering(gate, *["team"] * 6, kind="read") as of_team:
        assert len(of_team) == 4, "nobody else is there"
        stream = await gate.enter("b", "join")
        stream.release()
        for slot in of_team[:3]:
            slot.close()
        await settle()
        assert len(of_team) == 5, "now it holds two"
        visits = [asyncio.create_task(gate.enter("address", "join", known=False)) for _ in "abcd"]
        await settle()
        assert sum(visit.done() for visit in visits) == 2
        async with entering(gate, *"bbbbb", kind="read") as of_b:
            assert len(of_b) == 4, "a caller of short requests has half"
        stream.close()
        for visit in visits:
            visit.cancel()


async def test_a_slot_of_long_requests_rests_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    monkeypatch.setattr("agui_host.web.gate.LONGEST_REST", 1e-3)
    gate = Gate(8)
    gate._recent_seconds.count("a", 2 * LONG)
    async with entering(gate, "a", kind="read") as alone:
        alone[0].close()
    assert not gate._busy_of, "nobody else is there"
    (await gate.enter("b", "join")).release()
    async with entering(gate, *"aaa", kind="read") as reads:
        assert len(reads) == 2
        assert gate.expected("a", "read") == (gate._seconds["read"] + 1e-3) / 2
        reads[0].close()
        await settle()
        assert (len(reads), gate._busy) == (2, 1), "the slot is free for others"
        async with asyncio.timeout(10):
            while len(reads) < 3:
                await asyncio.sleep(1e-3)


async def test_seconds_of_slots_are_those_that_requests_held_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    gate = Gate(8)
    for seconds in (LONG / 2, None, LONG / 2):
        assert gate._recent_seconds.of("a") < LONG
        gate._take("a", "read")
        gate.left("a", "read", seconds)
    assert gate._recent_seconds.of("a") == pytest.approx(LONG, rel=1e-3)


async def test_starts_leave_slots_to_reads_and_joins() -> None:
    gate = Gate(8, starts=3)
    async with entering(gate, *"aaaaabb") as starts:
        assert len(starts) == 3
        async with entering(gate, *"ab", kind="join") as joins, entering(gate, "c", kind="read"):
            assert len(joins) == 2
        starts[0].release()
        await settle()
        assert len(starts) == 4


async def test_starts_of_one_caller_leave_a_slot_to_those_of_others() -> None:
    gate = Gate(8, starts=2)
    async with entering(gate, *"aaaa") as of_a, entering(gate, "b") as of_b:
        assert (len(of_a), len(of_b)) == (1, 1)
        of_b[0].release()
        await settle()
        assert len(of_a) == 1, "the slot stays free for others"
        async with entering(gate, *"aaaa", kind="read") as reads:
            assert len(reads) == 3, "one caller holds half of all slots at most"
        of_a[0].release()
        await settle()
        assert len(of_a) == 2


async def test_a_caller_of_many_starts_leaves_another_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people of a team begin at the same moment; a flood begins one run after another."""
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    monkeypatch.setattr("agui_host.web.gate.FEW", 4.0)
    gate = Gate(8, starts=3)
    async with entering(gate, *"aaa") as of_few, entering(gate, "b") as of_b:
        assert (len(of_few), len(of_b)) == (2, 1)
        of_few[0].close()
        of_few[1].close()
        await settle()
        of_few[2].close()
    async with entering(gate, *"aaa") as of_many:
        assert len(of_many) == 1


async def test_starts_are_refused_by_their_own_share(settings: Settings) -> None:
    settings.AGUI_REQUEST_WAIT = 0.1  # of 20 ms each, one at a time: five may wait
    gate = Gate(8, starts=2)
    async with entering(gate, *"a" * 7):
        with pytest.raises(Overloaded):
            await gate.enter("a", "start")
        async with entering(gate, "a", kind="read") as reads:
            assert len(reads) == 1


async def test_callers_take_turns() -> None:
    gate, turns = Gate(1), []

    async def come(caller: str) -> None:
        slot = await gate.enter(caller, "start")
        turns.append(caller)
        await asyncio.sleep(0)
        slot.release()

    await asyncio.gather(*map(come, "aaaaabbc"))
    assert "".join(turns) == "aabcabaa"


async def test_what_would_wait_too_long_is_refused_at_once(settings: Settings) -> None:
    settings.AGUI_REQUEST_WAIT = 0.1  # of 20 ms each, two at once: ten may wait
    gate = Gate(4)
    async with entering(gate, *"a" * 12) as of_a:
        assert len(of_a) == 2
        with pytest.raises(Overloaded) as refusal:
            async with entering(gate, "a"):
                await gate.enter("a", "start")
        assert refusal.value.headers == {"Retry-After": "1"}
        async with entering(gate, "b") as of_b, entering(gate, "a", kind="join"):
            assert len(of_b) == 1, "others are not refused for it"


async def test_who_leaves_while_waiting_takes_no_slot_along() -> None:
    gate = Gate(1)
    async with entering(gate, "a") as first:
        async with entering(gate, "b", "c"):
            pass
        waiting = asyncio.create_task(gate.enter("b", "start"))
        await settle()
        first[0].release()  # gives the slot to the one that leaves in the same moment
        waiting.cancel()
        await settle()
        (await gate.enter("d", "start")).release()
    assert (gate._busy, gate._waiting, gate._busy_of, gate._lanes) == (0, 0, {}, {})
    assert (gate._starts, gate._starts_of, gate._starting_lanes) == (0, {}, 0)


async def test_starts_rest_while_others_have_streams_open(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is a multiple of what the start took; a caller who is alone does not rest."""
    settings.AGUI_REQUEST_WAIT = 1e9
    monkeypatch.setattr("agui_host.web.gate.RECENT", 0.0)
    monkeypatch.setattr("agui_host.web.gate.BUSY", 1.0)
    monkeypatch.setattr(Recent, "of", lambda self, caller: 1e9)  # it starts many
    monkeypatch.setattr("agui_host.web.gate.LONG", float("inf"))
    gate = Gate(8, starts=2, rest=1e6)
    own_stream = await gate.enter("a", "join")
    own_stream.release()
    async with entering(gate, *"aa") as of_a:
        of_a[0].close()
        await settle()
        assert len(of_a) == 2, "only its own stream is open"
        stream = await gate.enter("b", "join")
        stream.release()
        of_a[1].close()
        assert gate.expected("a", "start") == 0.0
        async with entering(gate, *"aa") as later, entering(gate, "b") as of_b:
            assert (len(later), len(of_b)) == (0, 1), "other callers' starts go on"
            assert gate.expected("a", "start") > 1_000
            async with entering(gate, *"aaa", kind="read") as reads:
                assert len(reads) == 3, "so do its reads"
            gate._rested(gate._starts_of, "a")
            await settle()
            assert len(later) == 1
            stream.close()
            stream.close()
            later[0].close()
            await settle()
            assert len(later) == 2, "the other stream is over"
    own_stream.close()
    assert (gate._open, gate._open_of) == (0, {})


async def test_a_caller_that_starts_a_few_runs_does_not_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    monkeypatch.setattr("agui_host.web.gate.FEW", 3.0)
    gate = Gate(8, starts=2, rest=1e6)
    (await gate.enter("b", "join")).release()
    for _ in range(4):
        async with entering(gate, "a") as starts:
            assert len(starts) == 1
            starts[0].close()
    async with entering(gate, "a") as fifth, entering(gate, "c") as of_c:
        assert (len(fifth), len(of_c)) == (0, 1)


async def test_a_caller_counts_as_there_by_its_recent_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    gate = Gate(8, starts=2, rest=3.0)
    for caller in "aba":
        (await gate.enter(caller, "read")).close()
    assert gate._presence_of_others("a") == pytest.approx(0.2)
    assert gate._presence_of_others("b") == pytest.approx(0.4)
    for _ in range(9):
        (await gate.enter("b", "read")).close()
    assert gate._presence_of_others("a") == 1.0
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e-9)
    assert gate._presence_of_others("a") == 0.0
    alone = Gate(8, starts=2, rest=3.0)
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    for _ in range(2):
        (await alone.enter("a", "read")).close()
    assert alone._presence_of_others("a") == 0.0


async def test_starts_never_rest_for_a_request_without_a_known_credential(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_host.web.gate.RECENT", 1e9)
    gate = Gate(8, starts=2, rest=1e6)
    for _ in range(100):
        stranger = await gate.enter("address:192.0.2.1", "read", known=False)
        stranger.release()
    assert gate._presence_of_others("team:a") == 0.0
    for _ in range(100):
        (await gate.enter("team:a", "start")).close()
    async with entering(gate, "team:a") as starts:
        assert len(starts) == 1, "it did not rest"
    assert (gate._open, gate._open_of) == (0, {})


async def test_a_stream_counts_for_the_team_that_its_first_request_names() -> None:
    gate = Gate(8, starts=2, rest=3.0)
    slot = await gate.enter("address:192.0.2.1", "join", known=False)
    slot.identify = lambda: "team:b"
    slot.release()
    assert (gate._presence_of_others("team:a"), gate._presence_of_others("team:b")) == (1.0, 0.0)
    slot.close()
    slot.close()
    assert (gate._open, gate._open_of) == (0, {})


async def test_the_caller_that_was_silent_longest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_host.web.gate.REMEMBERED", 2)
    recent = Recent()
    for caller in "abc":
        recent.count(caller)
    assert list(recent._counts) == ["b", "c"]


async def test_requests_of_a_socket_leave_no_stream_behind() -> None:
    """Each takes a slot for itself; only the socket stays open."""
    gate = Gate(8, starts=2, rest=3.0)
    request = Request({"type": "websocket", GATE: gate}, receive=_nothing)
    for _ in range(3):
        async with request.admitted("a", "start"):
            assert gate._busy == 1
    assert (gate._busy, gate._open, gate._open_of) == (0, 0, {})


async def _nothing() -> dict[str, Any]:
    raise AssertionError("nobody asks it")
