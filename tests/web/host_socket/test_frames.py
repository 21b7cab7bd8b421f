"""Frames that are no calls: each is answered by an error, and the socket stays open."""

import asyncio
import json
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.web.host_socket import room as rooms
from agui_host.web.host_socket.requests import MOST_WAITING
from runs.models import Run
from tests.asgi import DEADLINE
from tests.cast import Cast
from tests.web.calling import Peer, calling

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"jsonrpc": "2.0", "id": 7, "method": "ping"}

BAD: list[tuple[Any, Any, int, str]] = [
    ("{", None, -32700, "bad_json"),
    ("NaN", None, -32700, "bad_json"),
    ('{"a":' * 101 + "1" + "}" * 101, None, -32700, "bad_json"),
    ('{"a":"\\ud800"}', None, -32700, "bad_json"),
    ("[]", None, -32600, "bad_request"),
    ([CALL], None, -32600, "bad_request"),
    ("3", None, -32600, "bad_request"),
    ({}, None, -32600, "bad_request"),
    ({**CALL, "jsonrpc": "1.0"}, 7, -32600, "bad_request"),
    ({**CALL, "method": 3}, 7, -32600, "bad_request"),
    ({**CALL, "id": [1]}, None, -32600, "bad_request"),
    ({**CALL, "params": [1]}, 7, -32602, "invalid"),
    ({**CALL, "method": "run.destroy"}, 7, -32601, "unknown_method"),
    ({"jsonrpc": "2.0", "method": "run.destroy"}, None, -32601, "unknown_method"),
    ({"jsonrpc": "2.0", "method": "run.start", "params": {}}, None, -32600, "bad_request"),
    ({"type": "abort", "runId": "r"}, None, -32600, "bad_request"),
    ({"jsonrpc": "2.0", "id": 1, "result": {}}, 1, -32600, "bad_request"),
]  # fmt: skip


async def error(peer: Peer) -> tuple[Any, int, str]:
    frame = await peer.next()
    assert frame["jsonrpc"] == "2.0"
    assert frame["error"]["message"]
    return frame["id"], frame["error"]["code"], frame["error"]["data"]["code"]


async def test_each_is_answered_by_an_error(
    cast: Cast, bell: None, settings: Settings, subtests: pytest.Subtests
) -> None:
    settings.AGUI_MAX_BODY_BYTES = 10_000
    async with calling(cast.alice.headers) as peer:
        for frame, *expected in BAD:
            with subtests.test(frame=str(frame)[:40]):
                await peer.send(frame)
                assert await error(peer) == tuple(expected)
        await peer.send(json.dumps({**CALL, "params": {"x": "y" * 10_000}}))
        assert await error(peer) == (None, 413, "too_large")
        await peer.socket.send_to(bytes_data=b"{}")
        assert await error(peer) == (None, -32600, "bad_request")
        assert await peer.call("ping") == {}
    assert await db(Run.objects.count) == 0


async def test_acknowledgements_of_what_was_never_sent(cast: Cast, bell: None) -> None:
    async with calling(cast.alice.headers) as peer:
        result = await peer.call("run.start", input={}, subscribe=0)
        name, run = result["subscription"], result["run"]["id"]
        for params, code in (
            ({"subscription": name, "seq": 1}, "invalid"),
            ({"subscription": name, "run": run, "seq": 1}, "invalid"),
            ({"subscription": name, "seq": "1"}, "bad_cursor"),
            ({"subscription": "s2", "seq": 1}, "not_found"),
            ({"subscription": "x", "seq": 1}, "not_found"),
            ({"seq": 1}, "invalid"),
        ):
            await peer.notify("ack", **params)
            assert (await error(peer))[2] == code, params
        await peer.notify("ack", subscription=name, seq=0)
        assert await peer.call("ping") == {}
        assert peer.notes == []


async def test_more_requests_than_wait_at_once_are_all_answered(cast: Cast, bell: None) -> None:
    """What is too much is not read before there is room: nothing is refused, nothing is lost."""
    many = MOST_WAITING + 50
    run = "00000000-0000-7000-8000-000000000000"
    async with calling(cast.alice.headers) as peer:
        for number in range(many):
            call = {"jsonrpc": "2.0", "id": number, "method": "run.cancel", "params": {"run": run}}
            await peer.send(call)
        answers = [await peer.next() for _ in range(many)]
    assert {answer["id"] for answer in answers} == set(range(many))
    assert {answer["error"]["data"]["code"] for answer in answers} == {"not_found"}


async def test_subscriptions_beyond_the_limit(
    cast: Cast, bell: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "MOST_SUBSCRIPTIONS", 3)
    async with calling(cast.alice.headers) as peer:
        first = await peer.call("run.start", input={}, subscribe=0)
        run = first["run"]["id"]
        assert await peer.refused("run.subscribe", run=run, after=9) == "bad_cursor"
        for _ in range(2):
            await peer.call("run.subscribe", run=run)
        for method, params in (
            ("run.subscribe", {"run": run}),
            ("thread.subscribe", {"thread_id": first["run"]["thread_id"]}),
            ("run.start", {"input": {}, "subscribe": 0}),
        ):
            answer = await peer.answer(method, **params)
            assert answer["error"]["data"]["code"] == "limit_reached", method
            details = answer["error"]["data"]["details"]
            assert details == {"limit": "socket_subscriptions", "max": 3}
        await peer.call("unsubscribe", subscription=first["subscription"])
        await peer.call("run.subscribe", run=run)
    assert await db(Run.objects.count) == 1, "a start that cannot be read starts nothing"


async def test_a_host_that_is_full_refuses_requests_and_keeps_the_socket(
    cast: Cast, bell: None, settings: Settings
) -> None:
    async with calling(cast.alice.headers) as peer:
        await peer.call("ping")
        settings.AGUI_REQUEST_WAIT = -1.0  # as if everyone had to wait too long
        answers = await asyncio.gather(*[_start(peer, number) for number in range(30)])
        frames = [await peer.next() for _ in answers]
        refused = [frame for frame in frames if "error" in frame]
        assert refused, "30 starts at once fit through a gate of a few slots"
        for frame in refused:
            assert frame["error"]["code"] == 503
            assert frame["error"]["data"]["code"] == "overloaded"
            assert frame["error"]["data"]["retry_after"] >= 1
        settings.AGUI_REQUEST_WAIT = DEADLINE
        await peer.call("run.start", input={})


async def _start(peer: Peer, number: int) -> None:
    params = {"input": {}}
    await peer.send({"jsonrpc": "2.0", "id": -number, "method": "run.start", "params": params})
