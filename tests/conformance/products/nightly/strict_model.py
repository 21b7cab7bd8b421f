"""A model's endpoint as OpenAI's is: it refuses a history whose calls and results do not match."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.conformance.products.peers import scripted_model

Json = dict[str, Any]


class Model(NamedTuple):
    """``url`` is its base; ``refused`` has the reason of each answer 400, ``asked`` all bodies."""

    url: str
    asked: list[Json]
    refused: list[str]


@contextmanager
def serving() -> Iterator[Model]:
    """The endpoint on a port of this machine until the end of the block."""
    asked, refused = list[Json](), list[str]()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            if reason := fault(body["messages"]):
                refused.append(reason)
                error = {"error": {"message": reason, "type": "invalid_request_error"}}
                self.answer(400, "application/json", json.dumps(error))
                return
            frames = [json.dumps(chunk) for chunk in chunks(body)] + ["[DONE]"]
            stream = "".join(f"data: {frame}\n\n" for frame in frames)
            self.answer(200, "text/event-stream", stream)

        def answer(self, status: int, kind: str, body: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Its standard error is the tests'."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Model(f"http://127.0.0.1:{server.server_port}/v1", asked, refused)
    finally:
        server.shutdown()
        server.server_close()


def fault(messages: list[Json]) -> str:
    """Why OpenAI would refuse these messages, or nothing."""
    waiting, before = set[str](), set[str]()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"a result without a call before it: {message}"
            if not isinstance(message["content"], str | list):
                return f"a result without content: {message}"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"{waiting} have no result before: {message}"
        if message["role"] == "user" and not message["content"]:
            return f"a user who says nothing: {message}"
        for call in message.get("tool_calls") or []:
            if not call["id"] or call["id"] in before:
                return f"the id of a call is empty or stands twice: {call}"
            before.add(call["id"])
            waiting.add(call["id"])
            if not isinstance(parsed(call["function"]["arguments"]), dict):
                return f"arguments that are not JSON: {call}"
    return f"{waiting} have no result at the end" if waiting else ""


def parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return None


def chunks(body: Json) -> list[Json]:
    """The answer of the scripted model, in the pieces of a stream."""
    messages = body["messages"]
    users = [text_of(each["content"]) for each in messages if is_user(each)]
    result = None if is_user(messages[-1]) else text_of(messages[-1]["content"])
    offered = [tool["function"]["name"] for tool in body.get("tools") or []]
    reply = scripted_model.answer(users, result, offered)
    if isinstance(reply, str):
        deltas: list[Json] = [{"content": f"{word} "} for word in reply.split(" ")]
        deltas[-1]["content"] = deltas[-1]["content"].rstrip()
        end = "stop"
    else:
        function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": f"call_{len(messages)}", "type": "function", "function": function}
        deltas, end = [{"tool_calls": [call]}], "tool_calls"
    deltas[0]["role"] = "assistant"
    steps = [*[(delta, None) for delta in deltas], ({}, end)]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in steps
    ]


def is_user(message: Json) -> bool:
    """LlamaIndex lets results of its history come as the user's messages, with a call's id."""
    return message["role"] == "user" and "tool_call_id" not in message


def text_of(content: Any) -> str:
    """A text, or the texts of its parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
