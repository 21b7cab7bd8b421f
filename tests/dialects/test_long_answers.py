"""No answer that is sent whole grows with its run: 30 MB of text are cut, and a mark says so."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.wire.room import MOST_CHARACTERS
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH, ROUNDS, LAST = 1_000_000, 5, 9
ASKED = [{"role": "user", "content": "Tell me everything."}]


async def everything(ctx: Any) -> AsyncIterator[Any]:
    """20 MB of messages, reasoning, arguments and results, then 9 MB in one message."""
    many = "x" * LENGTH
    for key in map(str, range(ROUNDS)):
        yield {"type": "REASONING_MESSAGE_START", "messageId": f"r{key}", "role": "reasoning"}
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": f"r{key}", "delta": many}
        yield {"type": "REASONING_MESSAGE_END", "messageId": f"r{key}"}
        yield {"type": "TEXT_MESSAGE_START", "messageId": f"m{key}", "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{key}", "delta": many}
        yield {"type": "TEXT_MESSAGE_END", "messageId": f"m{key}"}
        yield {"type": "TOOL_CALL_START", "toolCallId": f"c{key}", "toolCallName": "look"}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": f"c{key}", "delta": f'"{many}"'}
        yield {"type": "TOOL_CALL_END", "toolCallId": f"c{key}"}
        yield {"type": "TOOL_CALL_RESULT", "toolCallId": f"c{key}", "messageId": f"t{key}"} | {
            "content": many
        }
    yield {"type": "TEXT_MESSAGE_START", "messageId": "last", "role": "assistant"}
    for _ in range(LAST):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "last", "delta": many}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "last"}


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}}


PREFIX = "io.modelcontextprotocol/"
EXTENSIONS = {"extensions": {f"{PREFIX}tasks": {}}}
META = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": EXTENSIONS}


def requests(run: Run) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Each address that answers whole, by what it is."""
    key, mcp = run.pk, ("POST", "/mcp")
    return {
        "AI SDK, messages": ("GET", "/api/chat/long/t", {}),
        "OpenAI, response": ("GET", f"/v1/responses/resp_{key.hex}", {}),
        "TanStack, thread": ("GET", "/agui/agent/long/run?threadId=t", {}),
        "A2A, task": ("GET", f"/a2a/long/tasks/{key}", {}),
        "A2A, tasks": ("GET", "/a2a/tasks?includeArtifacts=true", {}),
        "MCP, task": (*mcp, rpc("tasks/get", taskId=str(key), _meta=META)),
        "MCP, run": (*mcp, rpc("resources/read", uri=f"agui://runs/{key}")),
        "MCP, thread": (*mcp, rpc("resources/read", uri="agui://threads/t")),
    }


async def test_an_answer_about_a_long_run(cast: Cast, register: Register, writer: Any) -> None:
    long = await db(register, "long", everything, is_tool=True)
    earlier = await db(start, cast.alice, threadId="short", messages=ASKED)
    run = await db(start, cast.alice, long, threadId="t", messages=ASKED)
    run = await perform(run, writer)
    assert run.status == "succeeded"
    assert run.journal.bytes > (4 * ROUNDS + LAST) * LENGTH
    for name, (method, url, outgoing) in requests(run).items():
        answer = await ask(method, url, cast.alice.headers, **outgoing)
        assert answer.status == 200, (name, answer.body[:500])
        assert len(answer.body) < 1.2 * MOST_CHARACTERS, (name, len(answer.body))
        (_, _, rest) = answer.body.partition(b"[Cut here: ")
        assert b" The whole: /api/v1/" in rest[:200], name
    await pages(cast, earlier)


async def pages(cast: Cast, earlier: Run) -> None:
    """What one answer has no room for is on the pages before it."""
    ids: list[str] = []
    before = ""
    while True:
        url = f"/agui/agent/long/run?threadId=t{before}"
        page = (await ask("GET", url, cast.alice.headers)).json
        ids[:0] = [message["id"] for message in page["messages"]]
        if not page["page"]["truncated"]:
            break
        before = f"&before={page['page']['cursor']}"
    assert ids[-1] == "last"
    assert len(ids) == len(set(ids)) == 1 + 3 * ROUNDS + 1
    listed = (await ask("GET", "/a2a/tasks?includeArtifacts=true", cast.alice.headers)).json
    assert len(listed["tasks"]) == 1
    url = f"/a2a/tasks?includeArtifacts=true&pageToken={listed['nextPageToken']}"
    listed = (await ask("GET", url, cast.alice.headers)).json
    assert [task["id"] for task in listed["tasks"]] == [str(earlier.pk)]
    assert listed["nextPageToken"] == ""
