"""Every reader of a log over HTTP: its request, and how it is told that history went back."""

from typing import Any, NamedTuple

from tests.dialects.test_repeated_starts import a2a, chat, mcp, native
from tests.web.resets.shapes import (
    Json,
    Read,
    a2a_rpc,
    a2a_stream,
    ai_sdk,
    alpine,
    chunks,
    core,
    google,
    line,
    openai,
    ours,
    responses,
    rpc,
    rpc_stream,
    tanstack,
)

SSE, LINES = {"accept": "text/event-stream"}, {"accept": "application/x-ndjson"}


class Reader(NamedTuple):
    """A request whose answer is a stream, or comes at the end; ``read`` what the last bytes say.

    One that starts no run reads a run that is there. ``via``: the module that reads the log.
    """

    via: str
    method: str
    url: str
    read: Read
    body: Json | None = None
    headers: Json = {}
    streams: bool = True
    starts: bool = True


WEB, DIALECTS = "agui_host/web/consumers", "agui_host/dialects"
AI_SDK, OPENAI, A2A, OF_TANSTACK, ALPINE, DURABLE = (
    f"{DIALECTS}/{name}/endpoints.py"
    for name in ("ai_sdk", "openai", "a2a", "tanstack", "alpine", "durable_streams")
)
AGUI, TANSTACK = "/agui/agent/echo/run", "/agui/agent/echo/run?runId=r&offset=0"
MESSAGE = {**a2a("a"), "configuration": {}}


def a2a_call(method: str) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": MESSAGE}


CALL = mcp("a")
CALL["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {}
CANCEL = {"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"taskId": "{run}"}}


def joins(via: str, url: str, read: Read, method: str = "GET", **more: Any) -> Reader:
    return Reader(via, method, url, read, starts=False, **more)


READERS = {
    "events": joins(f"{WEB}/events.py", "/api/v1/runs/{run}/events", core, headers=SSE),
    "agui": Reader(f"{WEB}/agui.py", "POST", "/agui", core, native("a")),
    "connect": joins(
        f"{WEB}/connect.py", "/agui/agent/echo/connect", core, "POST", body={"threadId": "t"}
    ),
    "durable streams": joins(
        DURABLE, "/api/v1/runs/{run}/stream?offset=-1&live=sse", core
    ),
    "wait": Reader(
        f"{WEB}/wait.py", "POST", "/api/v1/runs?wait=30", ours, {"input": native("a")},
        streams=False,
    ),
    "ai sdk": Reader(AI_SDK, "POST", "/api/chat/echo", ai_sdk, chat("a")),
    "ai sdk, again": joins(AI_SDK, "/api/chat/echo/t/stream", ai_sdk),
    "responses": Reader(
        OPENAI, "POST", "/v1/responses", responses,
        {"model": "echo", "input": "a", "stream": True},
    ),
    "responses, again": joins(
        OPENAI, "/v1/responses/resp_{hex}?stream=true", responses
    ),
    "responses, whole": Reader(
        f"{DIALECTS}/waiting.py", "POST", "/v1/responses", openai, {"model": "echo", "input": "a"},
        streams=False,
    ),
    "responses, cancelled": joins(
        f"{DIALECTS}/waiting.py", "/v1/responses/resp_{hex}/cancel", openai, "POST", body={},
        streams=False,
    ),
    "chat completions": Reader(
        OPENAI, "POST", "/v1/chat/completions", chunks,
        {"model": "echo", "messages": native("a")["messages"], "stream": True},
    ),
    "chat completions, whole": Reader(
        f"{DIALECTS}/waiting.py", "POST", "/v1/chat/completions", openai,
        {"model": "echo", "messages": native("a")["messages"]}, streams=False,
    ),
    "a2a": Reader(A2A, "POST", "/a2a/echo/message:stream", a2a_stream, MESSAGE),
    "a2a, again": joins(A2A, "/a2a/echo/tasks/{run}:subscribe", a2a_stream),
    "a2a, whole": Reader(
        f"{DIALECTS}/waiting.py", "POST", "/a2a/echo/message:send", google, MESSAGE, streams=False
    ),
    "a2a, cancelled": joins(
        f"{DIALECTS}/waiting.py", "/a2a/echo/tasks/{run}:cancel", google, "POST", body={},
        streams=False,
    ),
    "a2a, rpc": Reader(
        A2A, "POST", "/a2a/echo", a2a_rpc, a2a_call("SendStreamingMessage")
    ),
    "a2a, rpc of 0.3": Reader(
        A2A, "POST", "/a2a/echo", a2a_rpc, a2a_call("message/stream")
    ),
    "mcp": Reader(f"{DIALECTS}/waiting.py", "POST", "/mcp", rpc, CALL, streams=False),
    "mcp, streamed": Reader(
        f"{DIALECTS}/mcp/stream.py", "POST", "/mcp", rpc_stream, CALL, headers=SSE
    ),
    "mcp, cancelled": joins(
        f"{DIALECTS}/waiting.py", "/mcp", rpc, "POST", body=CANCEL, streams=False
    ),
    "alpine": joins(ALPINE, "/runs/{run}/events", alpine, headers=SSE),
    "tanstack": Reader(
        f"{WEB}/agui.py", "POST", AGUI, tanstack, native("a"), {"x-run-id": "r2"}
    ),
    "tanstack, lines": Reader(f"{WEB}/agui.py", "POST", AGUI, line, native("a"), LINES),
    "tanstack, again": joins(OF_TANSTACK, TANSTACK, tanstack),
    "tanstack, lines again": joins(OF_TANSTACK, TANSTACK, line, headers=LINES),
}  # fmt: skip
ELSEWHERE = {
    "events/follow.py": "what the others read by",
    f"{WEB}/stream.py": "what the others read by",
    f"{WEB}/shared.py": "test_a_link",
    f"{WEB}/socket.py": "tests/web/asgi/test_resets.py",
    "agui_host/web/host_socket/subscriptions.py": "tests/web/asgi/test_resets.py",
    f"{DIALECTS}/tanstack/socket.py": "test_conversations.py",
    f"{DIALECTS}/copilotkit/socket.py": "test_conversations.py",
    "agui_host/web/host_socket/feed.py": "tests/web/asgi/test_resets.py",
    "runs/worker/children.py": "test_a_parents_agent",
}
