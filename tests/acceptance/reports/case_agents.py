"""The agents of these tests, which a host loads by AGUI_AGENT_MODULES.

``case-play`` plays forwardedProps.script: a list of events, {"sleep": s} and {"raise": text};
``case-see`` answers with its whole RunAgentInput; ``case-py`` yields objects of Python that real
adapters put into events.
"""

import asyncio
import datetime
import decimal
import enum
import json
import pathlib
import uuid

from agui_host import RunContext, agent


def script_of(ctx):
    props = ctx.forwarded_props or {}
    if "script" in props:
        return props["script"]
    text = ctx.text or ""
    return json.loads(text) if text.startswith("[") else [{"say": "ok: " + text}]


@agent(
    "case-play", description="Plays forwardedProps.script, or the user's message if that is JSON."
)
async def play(ctx: RunContext):
    for op in script_of(ctx):
        if "sleep" in op:
            await asyncio.sleep(op["sleep"])
        elif "raise" in op:
            raise RuntimeError(op["raise"])
        elif "say" in op:
            yield op["say"]
        elif "result" in op:
            ctx.result = op["result"]
        else:
            yield op


@agent("case-see", description="Answers with what it was given.")
async def see(ctx: RunContext):
    ctx.result = ctx.body
    yield "seen"


@agent("case-slow", description="Says n words, one a second.")
async def slow(ctx: RunContext):
    props = ctx.forwarded_props or {}
    n, every = props.get("n", 100), props.get("every", 1.0)
    for i in range(n):
        yield f"{i} "
        await asyncio.sleep(every)


class Colour(enum.Enum):
    RED = "red"


class Opaque:
    """Stands for a framework's object: a tool, a message, a client."""


VALUES = {
    "datetime": datetime.datetime(2026, 3, 29, 2, 30, tzinfo=datetime.UTC),
    "date": datetime.date(2026, 3, 29),
    "decimal": decimal.Decimal("12.30"),
    "uuid": uuid.UUID(int=7),
    "path": pathlib.PurePosixPath("/a/b"),
    "bytes": b"\x01\x9b",
    "set": {1},
    "enum": Colour.RED,
    "object": Opaque(),
    "nan": float("nan"),
    "bigint": 1234567890123456789,
    "tuple": (1, 2),
    "intkeys": {1: "a", 2: "b"},
}


@agent("case-py", description="Puts one Python value into one kind of event.")
async def py(ctx: RunContext):
    props = ctx.forwarded_props or {}
    value, where = VALUES[props["value"]], props["where"]
    yield {"type": "TEXT_MESSAGE_START", "messageId": f"m-{ctx.run_id}", "role": "assistant"}
    raw = {"event": "on_chat_model_stream", "data": {"chunk": value}}
    extra = {"rawEvent": raw} if where == "rawEvent" else {}
    yield {
        "type": "TEXT_MESSAGE_CONTENT",
        "messageId": f"m-{ctx.run_id}",
        "delta": "before ",
        **extra,
    }
    if where == "custom":
        yield {"type": "CUSTOM", "name": "x", "value": {"v": value}}
    elif where == "raw":
        yield {"type": "RAW", "event": raw}
    elif where == "state":
        yield {"type": "STATE_SNAPSHOT", "snapshot": {"v": value}}
    elif where == "delta":
        yield {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/v", "value": value}]}
    elif where == "ctxstate":
        ctx.state["v"] = value
    elif where == "toolresult":
        call = f"c-{ctx.run_id}"
        yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "t"}
        yield {"type": "TOOL_CALL_END", "toolCallId": call}
        yield {
            "type": "TOOL_CALL_RESULT",
            "toolCallId": call,
            "messageId": f"r-{ctx.run_id}",
            "content": {"v": value},
        }
    elif where == "result":
        ctx.result = {"v": value}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m-{ctx.run_id}", "delta": "after"}
    yield {"type": "TEXT_MESSAGE_END", "messageId": f"m-{ctx.run_id}"}


@agent(
    "case-ask",
    description="Asks once as LangGraph's adapter does: by CUSTOM on_interrupt and by the outcome.",
)
async def ask(ctx: RunContext):
    props = ctx.forwarded_props or {}
    command = props.get("command") or {}
    if ctx.resume or "resume" in command:
        ctx.result = {"resume": ctx.resume, "command": command}
        yield f"answered: {json.dumps(ctx.resume)} {json.dumps(command)}"
        return
    value = {"question": "Approve 5 EUR?"}
    yield {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(value)}
    yield {
        "type": "RUN_FINISHED",
        "threadId": ctx.thread_id,
        "runId": ctx.run_id,
        "outcome": {
            "type": "interrupt",
            "interrupts": [
                {
                    "id": f"q-{ctx.run_id}",
                    "reason": "langgraph:interrupt",
                    "message": "Approve 5 EUR?",
                }
            ],
        },
    }


@agent(
    "case-tool",
    description="Calls the client's tool `ask` if told 'use' or 'noargs', and says what came back.",
)
async def tool(ctx: RunContext):
    results = [m for m in ctx.messages if m["role"] == "tool"]
    words = [m["content"] for m in ctx.messages if m["role"] == "user"]
    if words and words[-1] in ("use", "noargs") and (ctx.messages[-1]["role"] != "tool"):
        call = f"call_{ctx.run_id[:8]}"
        yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "ask"}
        if words[-1] == "use":
            yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": '{"q": "x"}'}
        yield {"type": "TOOL_CALL_END", "toolCallId": call}
        return
    roles = " ".join(m["role"][0] + ("c" if m.get("toolCalls") else "") for m in ctx.messages)
    yield f"{len(results)} results, {roles}"
