"""AGUIServer with the client of the same package, and with bad requests."""

import json

import httpx
import pytest

from agui_client import AGUIClient, RunFailed, SyncAGUIClient
from tests.agui_client.conftest import Serve

APP = "tests.agui_client.app"


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve(f"{APP}:app")


def test_health(url: str) -> None:
    assert httpx.get(f"{url}/health").json() == {
        "status": "healthy",
        "protocol": "AG-UI",
        "title": "Echo",
        "description": "Says it again",
    }


def test_headers(url: str) -> None:
    headers = httpx.post(url, json={}).headers
    assert headers["content-type"] == "text/event-stream"
    assert (headers["cache-control"], headers["x-accel-buffering"]) == (
        "no-cache, no-transform",
        "no",
    )


async def test_a_conversation_with_a_server_that_remembers_nothing(url: str) -> None:
    async with AGUIClient(url) as client:
        assert await client.send("hi") == "you said 'hi' after ['user']"
        pieces = [piece async for piece in client.stream("more")]
        assert pieces == ["you said ", "'more' after ['user', 'assistant', 'user']"]


async def test_what_an_agent_leaves_out_is_added_and_what_is_too_much_dropped(url: str) -> None:
    async with AGUIClient(url) as client:
        events = [event async for event in client.run("events")]
        assert [event["type"] for event in events] == [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "RUN_FINISHED",
        ]
        assert events[0]["threadId"] == client.thread_id


async def test_an_agent_that_raises_ends_its_run_without_its_secrets(url: str) -> None:
    async with AGUIClient(url) as client:
        with pytest.raises(RunFailed) as raised:
            await client.send("fail")
        assert (raised.value.code, raised.value.message) == ("AGENT_ERROR", "The agent failed.")


async def test_cancel_hangs_up(url: str) -> None:
    async with AGUIClient(url) as client:
        assert not await client.cancel()
        async for event in client.run("wait"):
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                assert await client.cancel()


def test_the_sync_client(url: str) -> None:
    with SyncAGUIClient(url) as client:
        assert client.send("hi") == "you said 'hi' after ['user']"
        for piece in client.stream("more"):
            assert piece == "you said "
            break
        assert client.interrupts == []
        with pytest.raises(RunFailed):
            client.send("fail")
    client.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/", b"", 400),
        ("POST", "/", b"[]", 400),
        ("POST", "/", b"\xff", 400),
        ("GET", "/", b"", 405),
        ("POST", "/health", b"{}", 405),
        ("GET", "/nowhere", b"", 404),
    ],
)
def test_bad_requests(url: str, method: str, path: str, body: bytes, status: int) -> None:
    answer = httpx.request(method, url + path, content=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_ids_are_minted_and_snake_case_is_read(url: str) -> None:
    body = {"thread_id": "t", "messages": [{"role": "user", "content": "x"}]}
    answer = httpx.post(url, json=body)
    first = json.loads(answer.text.split("\n")[0].removeprefix("data: "))
    assert (first["type"], first["threadId"]) == ("RUN_STARTED", "t")
    assert first["runId"]


def test_without_an_agent_there_is_nothing_to_run(serve: Serve) -> None:
    answer = httpx.post(serve(f"{APP}:nobody"), json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_agent")
