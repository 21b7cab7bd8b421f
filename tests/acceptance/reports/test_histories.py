"""What later turns and readers get of a run whose log was unusual.

Each test is a public report about some host or client, named in its first line.
"""

import json

from tests.acceptance.reports.talk import (
    body,
    connect,
    ending,
    find_run,
    http_call,
    input_of,
    need,
    play,
    run,
    snapshot,
    sse,
    uid,
    user,
)


def test_snapshot_only_text():
    """langchain-ai/langchain-azure#855.

    A message that only MESSAGES_SNAPSHOT brings, in the other dialects.
    """
    thread, m, u = uid("t-"), uid("m-"), user("weather?")
    play(
        [
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [u, {"id": m, "role": "assistant", "content": "It is sunny."}],
            }
        ],
        thread,
        messages=[u],
    )
    row = find_run(thread)[0]
    out = {
        "AI SDK": http_call("GET", f"/api/chat/case-play/{thread}")[1],
        "Responses": http_call("GET", f"/v1/responses/resp_{row['id'].replace('-', '')}")[1],
        "A2A": http_call("GET", f"/a2a/tasks/{row['id']}", headers={"A2A-Version": "1.0"})[1],
        "MCP": http_call(
            "POST",
            "/mcp",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "resources/read",
                "params": {"uri": f"agui://runs/{row['id']}"},
            },
        )[1],
        "outline": http_call("GET", f"/api/v1/runs/{row['id']}/outline")[1],
        "TanStack": http_call("GET", f"/agui/agent/case-play/run?threadId={thread}")[1],
        "connect": connect(thread),
    }
    out["A2A"].pop("history", None)
    missing = [k for k, v in out.items() if "It is sunny." not in json.dumps(v)]
    need(not missing, "the answer is missing in " + ", ".join(missing))


def test_snapshot_only_result():
    """CopilotKit/CopilotKit#4488: a tool's result that only MESSAGES_SNAPSHOT brings."""
    thread, c, a, r, u = uid("t-"), uid("c-"), uid("m-"), uid("r-"), user("weather?")
    call = {"id": c, "type": "function", "function": {"name": "w", "arguments": "{}"}}
    events = play(
        [
            {"type": "TOOL_CALL_CHUNK", "toolCallId": c, "toolCallName": "w", "delta": "{}"},
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    u,
                    {"id": a, "role": "assistant", "content": "", "toolCalls": [call]},
                    {"id": r, "role": "tool", "toolCallId": c, "content": "sunny"},
                ],
            },
            {"say": "It is sunny."},
        ],
        thread,
        messages=[u],
    )
    row = find_run(thread)[0]
    rows = http_call("GET", f"/api/v1/runs/{row['id']}/outline")[1]["rows"]
    chat = [
        (p["type"], p.get("state"))
        for m in http_call("GET", f"/api/chat/case-play/{thread}")[1]
        for p in m["parts"]
        if "tool" in p["type"]
    ]
    pending = (ending(events).get("outcome") or {}).get("pendingToolCallIds")
    need(
        not pending,
        f"{pending} waits; outline {[x['status'] for x in rows if x['kind'] == 'tool']}, {chat}",
    )


def test_foreign_result_first():
    """CopilotKit/CopilotKit#3178.

    A tool's result that belongs to another thread comes first in this one.
    """
    thread = uid("t-")
    play([{"say": "hello"}], thread, messages=[user("one")])
    history = input_of(thread, [user("two")])["messages"]
    stray = {
        "id": uid(),
        "role": "tool",
        "toolCallId": "call_of_thread_a",
        "content": "A's secret result",
    }
    inputs = input_of(thread, [stray, *history, user("three")])["messages"]
    calls = {c["id"] for m in inputs for c in m.get("toolCalls", [])}
    orphans = [m for m in inputs if m["role"] == "tool" and m["toolCallId"] not in calls]
    need(not orphans, "the agent is given a result without a call; the thread has it for ever")


def test_same_call_ids():
    """pydantic/pydantic-ai#5761: two pending calls with one id."""
    thread, c = uid("t-"), uid("c-")
    tools = [{"name": "ask", "description": "", "parameters": {}}]
    play(
        [
            {"type": "TOOL_CALL_START", "toolCallId": c, "toolCallName": "ask"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": c, "delta": '{"n":1}'},
            {"type": "TOOL_CALL_END", "toolCallId": c},
            {"type": "TOOL_CALL_START", "toolCallId": c, "toolCallName": "ask"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": c, "delta": '{"n":2}'},
            {"type": "TOOL_CALL_END", "toolCallId": c},
        ],
        thread,
        tools=tools,
    )
    inputs = input_of(thread, [{"id": uid(), "role": "tool", "toolCallId": c, "content": "yes"}])[
        "messages"
    ]
    for m in inputs:
        for x in m.get("toolCalls", []):
            json.loads(x["function"]["arguments"])


def test_activity_and_text_collide():
    """ag-ui-protocol/ag-ui#1350: an activity and a text message with one id."""
    m = uid("m-")
    thread = uid("t-")
    play(
        [
            {"type": "STEP_STARTED", "stepName": "s"},
            {
                "type": "ACTIVITY_SNAPSHOT",
                "messageId": m,
                "activityType": "PLAN",
                "content": {"tasks": ["a"]},
                "replace": True,
            },
            {"type": "TEXT_MESSAGE_START", "messageId": m, "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": m, "delta": "the answer"},
            {"type": "TEXT_MESSAGE_END", "messageId": m},
            {"type": "STEP_FINISHED", "stepName": "s"},
        ],
        thread,
    )
    messages, _ = snapshot(connect(thread))
    need(
        any(x["role"] == "assistant" and x.get("content") == "the answer" for x in messages),
        f"the answer is in no message: {json.dumps(messages)[:300]}",
    )
    need(any(x["role"] == "activity" for x in messages), "the activity is gone")


def test_rekeyed_result():
    """microsoft/agent-framework#7491.

    A snapshot names a tool result by another id: the next turn's history.
    """
    thread, c, m, r1, r2, u = (
        uid("t-"),
        uid("c-"),
        uid("m-"),
        uid("r-"),
        uid("r-"),
        user("weather?"),
    )
    call = {"id": c, "type": "function", "function": {"name": "w", "arguments": "{}"}}
    first = uid("m-")
    play(
        [
            {
                "type": "TOOL_CALL_START",
                "toolCallId": c,
                "toolCallName": "w",
                "parentMessageId": first,
            },
            {"type": "TOOL_CALL_ARGS", "toolCallId": c, "delta": "{}"},
            {"type": "TOOL_CALL_END", "toolCallId": c},
            {"type": "TOOL_CALL_RESULT", "toolCallId": c, "messageId": r1, "content": "sunny"},
            {"type": "TEXT_MESSAGE_START", "messageId": m, "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": m, "delta": "It is sunny."},
            {"type": "TEXT_MESSAGE_END", "messageId": m},
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    u,
                    {"id": first, "role": "assistant", "toolCalls": [call]},
                    {"id": r2, "role": "tool", "toolCallId": c, "content": "sunny"},
                    {"id": m, "role": "assistant", "content": "It is sunny."},
                ],
            },
        ],
        thread,
        messages=[u],
    )
    inputs = input_of(thread, [user("thanks")])["messages"]
    at = next(i for i, x in enumerate(inputs) if x.get("toolCalls"))
    need(
        inputs[at + 1]["role"] == "tool",
        f"the result is not behind its call: {[x['role'] for x in inputs]}",
    )
    hydrated, _ = snapshot(connect(thread))
    need(
        [x["role"] for x in hydrated][:4] == ["user", "assistant", "tool", "assistant"],
        f"connect: {[x['role'] for x in hydrated]}",
    )


def test_empty_ids():
    """datarobot-oss/datarobot-genai#335: parentMessageId and messageId that are empty texts."""
    thread, c = uid("t-"), uid("c-")
    events = play(
        [
            {
                "type": "TOOL_CALL_START",
                "toolCallId": c,
                "toolCallName": "w",
                "parentMessageId": "",
            },
            {"type": "TOOL_CALL_ARGS", "toolCallId": c, "delta": "{}"},
            {"type": "TOOL_CALL_END", "toolCallId": c},
            {"type": "TOOL_CALL_RESULT", "toolCallId": c, "messageId": "", "content": "1"},
            {"type": "TEXT_MESSAGE_START", "messageId": "", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "", "delta": "done"},
            {"type": "TEXT_MESSAGE_END", "messageId": ""},
        ],
        thread,
    )
    messages, _ = snapshot(connect(thread))
    need(ending(events)["type"] == "RUN_FINISHED", f"{ending(events)}")
    need(
        any(m.get("content") == "done" and m["role"] == "assistant" for m in messages),
        "text gone: " + json.dumps(messages)[:200],
    )
    # again on the same thread: must not fall together with the earlier one
    play(
        [
            {"type": "TEXT_MESSAGE_START", "messageId": "", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "", "delta": "second"},
            {"type": "TEXT_MESSAGE_END", "messageId": ""},
        ],
        thread,
        messages=[user("2")],
    )
    messages, _ = snapshot(connect(thread))
    need(
        [m.get("content") for m in messages if m["role"] == "assistant" and m.get("content")]
        == ["done", "second"],
        json.dumps(messages)[:400],
    )


def test_cancelled_call():
    """earendil-works/pi#1499.

    A call that was cancelled without a result, in the next turn's history.
    """
    thread, c = uid("t-"), uid("c-")
    data = body(
        thread=thread,
        script=[
            {"say": "let me look"},
            {"type": "TOOL_CALL_START", "toolCallId": c, "toolCallName": "search"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": c, "delta": '{"q": "al'},
            {"sleep": 60},
        ],
    )
    connection, response = http_call(
        "POST", "/agui/agent/case-play/run", data, {"Accept": "text/event-stream"}, raw=True
    )
    for _, event in sse(response):
        if event["type"] == "TOOL_CALL_ARGS":
            break
    _status, _stopped = http_call("POST", f"/agui/agent/case-play/stop/{thread}")
    for _ in sse(response):
        pass
    connection.close()
    inputs = input_of(thread, [user("and now?")])["messages"]
    calls = [x for m in inputs for x in m.get("toolCalls", [])]
    results = {m["toolCallId"] for m in inputs if m["role"] == "tool"}
    open_calls = [x for x in calls if x["id"] not in results]
    need(
        not open_calls,
        f"calls without a result: {[x['function']['arguments'] for x in open_calls]}",
    )


def test_result_of_earlier_call():
    """assistant-ui/assistant-ui#4362.

    The resumed run sends only the result of the earlier run's call.
    """
    thread, c, q = uid("t-"), uid("c-"), uid("q-")
    play(
        [
            {"say": "I will pay."},
            {"type": "TOOL_CALL_START", "toolCallId": c, "toolCallName": "pay"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": c, "delta": "{}"},
            {"type": "TOOL_CALL_END", "toolCallId": c},
            {"say": "Waiting."},
            {
                "type": "RUN_FINISHED",
                "threadId": "x",
                "runId": "x",
                "outcome": {
                    "type": "interrupt",
                    "interrupts": [
                        {"id": q, "reason": "tool_call", "toolCallId": c, "message": "pay?"}
                    ],
                },
            },
        ],
        thread,
    )
    run(
        "case-play",
        body(
            [],
            thread=thread,
            script=[
                {
                    "type": "TOOL_CALL_RESULT",
                    "toolCallId": c,
                    "messageId": uid(),
                    "content": "paid",
                },
                {"say": "Done."},
            ],
            resume=[{"interruptId": q, "status": "resolved", "payload": True}],
        ),
    )
    inputs = input_of(thread)["messages"]
    roles = [m["role"] for m in inputs]
    at = next(i for i, m in enumerate(inputs) if m.get("toolCalls"))
    need(inputs[at + 1]["role"] == "tool", str(roles))
    # in other dialects
    out = http_call("GET", f"/api/chat/case-play/{thread}")[1]
    parts = [(p["type"], p.get("state")) for m in out for p in m["parts"]]
    need(("dynamic-tool", "output-available") in parts, f"AI SDK: {parts}")
