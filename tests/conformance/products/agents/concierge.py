"""An AG-UI agent that products speak to through the host: it remembers, calls tools, and asks.

``add A and B`` calls the client's tool of that name; a result becomes ``The sum is …``. ``ask``
ends the run with a question, ``count`` counts for a minute. Anything else is answered with all
that the user has said.
"""

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

Json = dict[str, Any]
app = FastAPI()


@app.post("/agent")
def agent(body: Json) -> StreamingResponse:
    frames = (f"data: {json.dumps(event)}\n\n" for event in run(body))
    return StreamingResponse(frames, media_type="text/event-stream")


def run(body: Json) -> Iterator[Json]:
    names = {"threadId": body["threadId"], "runId": body["runId"]}
    yield {"type": "RUN_STARTED", **names}
    ended: Json = {"type": "RUN_FINISHED", **names}
    messages = [each for each in body["messages"] if each["role"] in ("user", "tool")]
    users = [each["content"] for each in messages if each["role"] == "user"]
    if body.get("resume"):
        decision = json.dumps(body["resume"][0]["payload"])
        yield from text(f"You said {', then '.join(users)}, and decided {decision}.")
    elif messages[-1]["role"] == "tool":
        yield from text(f"The sum is {messages[-1]['content']}.")
    elif users[-1].startswith("add "):
        a, b = users[-1].removeprefix("add ").split(" and ")
        (offered,) = [each["name"] for each in body["tools"]]
        yield from call(offered, {"a": int(a), "b": int(b)})
    elif users[-1] == "count":
        yield from counting()
    elif users[-1] == "ask":
        question = {"id": str(uuid4()), "reason": "confirmation", "message": "Shall I?"}
        ended["outcome"] = {"type": "interrupt", "interrupts": [question]}
    else:
        yield from text(f"You said {', then '.join(users)}.")
    yield ended


def text(words: str) -> Iterator[Json]:
    message = {"messageId": str(uuid4())}
    yield {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}
    for word in words.split(" "):
        space = "" if words.endswith(word) else " "
        yield {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": word + space}
    yield {"type": "TEXT_MESSAGE_END", **message}


def counting() -> Iterator[Json]:
    """For a minute, unless its reader leaves."""
    for number in range(600):
        yield from text(f"{number}")
        time.sleep(0.1)


def call(name: str, arguments: Json) -> Iterator[Json]:
    named = {"toolCallId": str(uuid4())}
    yield {"type": "TOOL_CALL_START", **named, "toolCallName": name}
    yield {"type": "TOOL_CALL_ARGS", **named, "delta": json.dumps(arguments)}
    yield {"type": "TOOL_CALL_END", **named}
