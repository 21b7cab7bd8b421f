"""Other wire formats: OpenAI, the AI SDK, MCP and A2A.

Each test is a public report about some host or client, named in its first line.
"""

import asyncio
import http.server
import json
import threading
import time

import httpx
from a2a.client import ClientConfig, ClientFactory

from tests.acceptance.reports.talk import (
    ASK,
    PLACE,
    Fail,
    H,
    a2a_send,
    chat_post,
    http_call,
    input_of,
    mcp,
    need,
    play,
    stream,
    ui,
    uid,
)


def test_mcp_progress():
    """nerding-io/n8n-nodes-mcp#67.

    A call that takes longer than the client's timeout, with a progressToken.
    """
    began = time.time()
    _connection, response = http_call(
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 9,
            "method": "tools/call",
            "params": {
                "name": "case-play",
                "arguments": {"message": json.dumps([{"say": "a"}, {"sleep": 6}, {"say": "b"}])},
                "_meta": {"progressToken": "p1"},
            },
        },
        {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"},
        raw=True,
    )
    head = time.time() - began
    kind = response.getheader("content-type")
    data = response.read().decode()
    need(
        "notifications/progress" in data,
        f"nothing for {head:.0f} s: no progress, no headers; {kind}",
    )


def test_mcp_meta():
    """affaan-m/ECC#2670: tools/call with _meta.progressToken."""
    status, answer = mcp(
        "tools/call",
        {
            "name": "case-play",
            "arguments": {"message": "hi"},
            "_meta": {"progressToken": 3, "claudecode/toolUseId": "x"},
        },
    )
    need(status == 200 and "result" in answer, f"{status} {answer}")


def test_responses_empty_arguments():
    """openai/openai-agents-js#664: Responses: a client's call without arguments.

    It is JSON in every format, whole and streamed, for a tool of the client and of the agent.
    """
    ids = {"toolCallId": "c1"}
    begun = [{"type": "TOOL_CALL_START", **ids, "toolCallName": "ask"}]
    for script in (begun, [*begun, {"type": "TOOL_CALL_ARGS", **ids, "delta": " "}]):
        script = [*script, {"type": "TOOL_CALL_END", **ids}]
        own = {"type": "TOOL_CALL_RESULT", **ids, "messageId": "r", "content": "1"}
        for tools, events in ((["ask"], script), ([], [*script, own])):
            arguments = {**openai_arguments(tools, events), **stored_arguments(events)}
            if not tools:  # A chat completion has no place for a call of the agent.
                need(arguments.pop("chat") == arguments.pop("chat, streamed") == [], str(arguments))
            for name, texts in arguments.items():
                need([json.loads(text) for text in texts] == [{}], f"{name}: {texts!r}")


def openai_arguments(tools, events):
    """The arguments of each call in OpenAI's formats."""
    data = {"model": "case-play", "input": json.dumps(events)}
    data["tools"] = [{"type": "function", "name": name, "parameters": {}} for name in tools]
    _, whole = http_call("POST", "/v1/responses", data)
    frames = stream("POST", "/v1/responses", {**data, "stream": True})
    done = [each for each in frames if each["type"].endswith("_arguments.done")]
    deltas = [each["delta"] for each in frames if each["type"].endswith("_arguments.delta")]
    words = {"model": "case-play", "messages": [{"role": "user", "content": data["input"]}]}
    words["tools"] = [
        {"type": "function", "function": {"name": name, "parameters": {}}} for name in tools
    ]
    _, chat = http_call("POST", "/v1/chat/completions", words)
    chunks = stream("POST", "/v1/chat/completions", {**words, "stream": True})[:-1]
    pieces = [
        call["function"]["arguments"]
        for chunk in chunks
        for choice in chunk["choices"]
        for call in choice["delta"].get("tool_calls") or ()
    ]
    calls = chat["choices"][0]["message"].get("tool_calls") or ()
    return {
        "responses": [each["arguments"] for each in whole["output"] if "arguments" in each],
        "responses, done": [each["arguments"] for each in done],
        "responses, streamed": ["".join(deltas)],
        "chat": [each["function"]["arguments"] for each in calls],
        "chat, streamed": ["".join(pieces)] if pieces else [],
    }


def stored_arguments(events):
    """The same of a thread that a page of another client loads."""
    thread = uid("t-")
    play(events, thread)
    chat = http_call("GET", f"/api/chat/case-play/{thread}")[1]
    tanstack = http_call("GET", f"/agui/agent/case-play/run?threadId={thread}")[1]["messages"]
    copilot = http_call("GET", f"/agui/threads/{thread}/messages")[1]["messages"]
    parts = [part for message in tanstack for part in message["parts"]]
    calls = [part for part in parts if part["type"] == "tool-call"]
    return {
        "AI SDK": [
            json.dumps(part["input"])
            for message in chat
            for part in message["parts"]
            if "toolCallId" in part
        ],
        "TanStack": [part["arguments"] for part in calls],
        "TanStack, input": [json.dumps(part["input"]) for part in calls],
        "CopilotKit": [call["args"] for each in copilot for call in each.get("toolCalls", ())],
        "next turn": [
            call["function"]["arguments"]
            for message in input_of(thread)["messages"]
            for call in message.get("toolCalls") or ()
        ],
    }


def test_conversation_items():
    """ogx-ai/ogx#3235: items and metadata of a new conversation; its items."""
    _st, c = http_call(
        "POST",
        "/v1/conversations",
        {
            "items": [{"type": "message", "role": "user", "content": "my name is Ada"}],
            "metadata": {"topic": "demo"},
        },
    )
    http_call(
        "POST",
        "/v1/responses",
        {"model": "case-see", "conversation": c["id"], "input": "who am I?"},
    )
    row = http_call("GET", "/api/v1/runs?limit=1&agent=case-see")[1]["results"][0]
    contents = [m["content"] for m in row["result"]["messages"]]
    st2, _items = http_call("GET", f"/v1/conversations/{c['id']}/items")
    need(
        "my name is Ada" in contents and st2 == 200,
        f"the items are dropped with 200 (agent got {contents}); items: {st2}",
    )


def test_regenerate_second():
    """vercel/ai#18318.

    [U, A, B]: regenerate B (the chat sends [U, A] and messageId B): A stays.
    """
    thread = uid("t-")
    chat_post(thread, [ui(json.dumps([{"say": "A"}]))])
    play([{"say": "B"}], thread, messages=[])
    stored = http_call("GET", f"/api/chat/case-play/{thread}")[1]
    need([m["role"] for m in stored] == ["user", "assistant", "assistant"], str(stored))
    chat_post(
        thread,
        stored[:2],
        trigger="regenerate-message",
        messageId=stored[2]["id"],
        forwardedProps={"script": [{"say": "B2"}]},
    )
    after = http_call("GET", f"/api/chat/case-play/{thread}")[1]
    texts = [
        "".join(p.get("text", "") for p in m["parts"]) for m in after if m["role"] == "assistant"
    ]
    need(
        texts == ["A", "B2"],
        f"stored now {texts}: an answer that nobody wanted replaced is gone",
    )


def test_ai_sdk_only_assistant():
    """vercel/ai#8854.

    PrepareSendMessagesRequest sends the last message only, the assistant's, with nothing new in
    it.
    """
    bad = []
    for parts in (
        [{"type": "step-start"}],
        [],
        [{"type": "tool-ask", "toolCallId": "c", "state": "input-available", "input": {}}],
        [
            {
                "type": "tool-ask",
                "toolCallId": "c",
                "state": "output-denied",
                "approval": {"id": "x", "approved": False},
            }
        ],
    ):
        status, _text = chat_post(uid("t-"), [{"id": "a", "role": "assistant", "parts": parts}])
        if status >= 500:
            bad.append(parts[0].get("state", parts[0]["type"]) if parts else "no parts")
    need(not bad, f"500 for {bad}")


def test_a2a_default_client():
    """a2aproject/a2a-inspector#114, mezmo/aura#509.

    A2a-sdk's client with its defaults (JSON-RPC).
    """

    async def go():
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {PLACE.key}"}) as http:
            await ClientFactory(ClientConfig(httpx_client=http)).create_from_url(
                PLACE.url + "/a2a/case-play"
            )

    try:
        asyncio.run(go())
    except ValueError as error:
        raise Fail(str(error)) from None


def test_a2a_task_without_context():
    """a2aproject/a2a-python#1206: taskId without contextId: the task's context."""
    status, first = a2a_send(ASK)
    task = first["task"]
    need(task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", json.dumps(first)[:300])
    status, second = a2a_send("yes", taskId=task["id"])
    need(
        status == 200
        and second["task"]["contextId"] == task["contextId"]
        and second["task"]["id"] == task["id"],
        f"{status} {json.dumps(second)[:300]}",
    )
    status, wrong = a2a_send("yes", taskId=task["id"], contextId="other-context")
    need(status >= 400, f"a contradicting contextId is taken: {status} {json.dumps(wrong)[:200]}")


def test_a2a_push_without_stream():
    """a2aproject/a2a-python#218: push notifications for a message:send that is not a stream."""
    got = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *a):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    data = {
        "message": {
            "messageId": uid(),
            "role": "ROLE_USER",
            "parts": [{"text": json.dumps([{"sleep": 1}, {"say": "done"}])}],
        },
        "configuration": {
            "returnImmediately": True,
            "taskPushNotificationConfig": {
                "url": f"http://localhost:{server.server_port}/hook",
                "token": "tok",
            },
        },
    }
    status, answer = http_call("POST", "/a2a/case-play/message:send", data, H)
    need(status == 200, f"{status} {answer}")
    for _ in range(100):
        if any(b"TASK_STATE_COMPLETED" in b for _, b in got):
            break
        time.sleep(0.1)
    server.shutdown()
    server.server_close()
    need(
        any(b"TASK_STATE_COMPLETED" in b for _, b in got),
        f"{len(got)} notifications, none of the end",
    )
    need(got[0][0].get("X-A2A-Notification-Token") == "tok", str(got[0][0]))
