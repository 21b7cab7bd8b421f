"""TanStack AI: AG-UI's events with a cursor, and threads as the UIMessages of its pages.

Its streams are the stored events: server-sent as everywhere, as lines of ``{"id", "chunk"}``, or as
the same envelope on a socket. Only the messages of a thread are another format.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agui_host.protocol.errors import HostError
from agui_host.protocol.input.arguments import or_empty
from agui_host.protocol.strict_json import BadJson, dumps, loads
from agui_host.protocol.wire.server_sent import blocks

Json = dict[str, Any]

BINDING = "tanstack:interruptBinding"


def envelope(cursor: int | str, payload: str) -> str:
    """An event as a line or as a frame of a socket; ``id`` is an opaque text there."""
    return f'{{"id":"{cursor}","chunk":{payload}}}'


def lines(payloads: Iterable[bytes], first: int, numbering: bytes = b"%d") -> bytes:
    """Stored events as lines, the first of them being number ``first``."""
    form = b'{"id":"%b","chunk":%%b}\n' % numbering
    return b"".join([form % (seq, each) for seq, each in enumerate(payloads, first)])


def prelude_lines(opening: bytes) -> bytes:
    """A server-sent prelude, of which only the last frame has an id, as lines."""
    return b"".join(
        [
            each + b"\n" if cursor is None else b'{"id":"%b","chunk":%b}\n' % (cursor, each)
            for cursor, each in blocks(opening)
        ]
    )


def refusal(error: HostError) -> Json:
    """An error of the host as the event that the client takes for the end of all it waits for."""
    event: Json = {"type": "RUN_ERROR", "message": error.message, "code": error.code}
    return event | ({"metadata": error.details} if error.details else {})


def ui_messages(messages: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The messages of a thread as TanStack's own server stores them.

    A tool's result is in the message of its call. Activities have no form there and are left out.
    """
    converted: list[Json] = []
    calls: dict[str, tuple[Json, Json]] = {}
    for message in messages:
        role = message["role"]
        if role != "activity":
            role = _ROLES.get(role, role)
            ui = {"id": message["id"], "role": role, "parts": _parts(message)}
            converted.append(ui)
            calls |= {part["id"]: (ui, part) for part in ui["parts"] if part["type"] == "tool-call"}
    # A snapshot can name a call again after its result, so all calls are known first.
    return [ui for ui in converted if not _joins_call(ui, calls)]


_ROLES = {"developer": "system", "reasoning": "assistant", "tool": "assistant"}


def _parts(message: Mapping[str, Any]) -> list[Json]:
    content = message.get("content")
    if message["role"] == "reasoning":
        return [{"type": "thinking", "content": content}] if content else []
    if message["role"] == "tool":
        return [_result(message)]
    parts = _content(content)
    return [*parts, *(_call(call) for call in message.get("toolCalls") or ())]


def _content(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [
        {"type": "text", "content": part.get("text", "")} if part["type"] == "text" else dict(part)
        for part in content or ()
    ]


def _call(call: Mapping[str, Any]) -> Json:
    function = call["function"]
    # Pages parse the arguments of each complete call, and their client runs a tool by its input.
    text = or_empty(function["arguments"])
    part = {
        "type": "tool-call",
        "id": call["id"],
        "name": function["name"],
        "arguments": text,
        "state": "input-complete",
    }
    try:
        return part | {"input": loads(text.encode())}
    except BadJson:
        return part


def _result(message: Mapping[str, Any]) -> Json:
    content, error = message["content"], message.get("error")
    result = {
        "type": "tool-result",
        "id": message["id"],
        "toolCallId": message["toolCallId"],
        "content": content if isinstance(content, str) else _content(content),
        "state": "complete" if error is None else "error",
    }
    return result if error is None else result | {"error": error}


def _joins_call(ui: Json, calls: Mapping[str, tuple[Json, Json]]) -> bool:
    """Whether a message is the result of a call; it is then a part of the call's message."""
    result = ui["parts"][0] if ui["parts"] else None
    if result is None or result["type"] != "tool-result" or result["toolCallId"] not in calls:
        return False
    carrier, call = calls[result["toolCallId"]]
    call |= {"state": result["state"], "output": _value(result["content"])}
    carrier["parts"].append(result)
    return True


def _value(content: Any) -> Any:
    if not isinstance(content, str):
        return content
    try:
        return loads(content.encode())
    except BadJson:
        return content


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def bound(interrupt: Mapping[str, Any], run_id: str) -> Json:
    """A question with the mark without which TanStack's client shows it, but offers no answer."""
    binding: Json = {
        "v": 1,
        "kind": "generic",
        "interruptId": interrupt["id"],
        "interruptedRunId": run_id,
        "generation": 0,
    }
    if (schema := interrupt.get("responseSchema")) is not None:
        # Their hash of JSON in its canonical form: sorted keys, no spaces.
        canonical = dumps(_sorted(schema)).encode(errors="surrogatepass")
        digest = hashlib.sha256(canonical).hexdigest()
        binding["responseSchemaHash"] = f"sha256:{digest}"
    return {**interrupt, "metadata": {**(interrupt.get("metadata") or {}), BINDING: binding}}
