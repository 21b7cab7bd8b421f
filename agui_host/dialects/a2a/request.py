"""What A2A's clients send, as a RunAgentInput or as the answer to a question."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from agui_host.dialects.a2a.push import PushConfig
from agui_host.dialects.a2a.push import read as read_push
from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input.fields import object_at, text_at, wrong
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.input.run_agent_input import digest_of
from agui_host.protocol.strict_json import dumps

Json = dict[str, Any]
MEDIA = ("image", "audio", "video")


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A message to an agent. ``task`` and ``context`` are those it continues.

    ``message`` is AG-UI's; ``answer`` is the message as the payload of an answer. ``history`` is
    the most messages that the task in the answer can have; None for all. ``push`` is where to send
    the task's changes. ``digest`` is that of the body.
    """

    digest: str
    task: str | None
    context: str | None
    message: Json
    answer: Any
    props: Json
    immediately: bool
    history: int | None
    push: PushConfig | None


def read(body: Any) -> SendRequest:
    """Read the body of ``message:send`` and ``message:stream``. Raises BadRequest or Invalid."""
    if not isinstance(body, dict):
        raise BadRequest('The body must be a JSON object: {"message"}.')
    message = object_at(body.get("message"), "message")
    configuration = body.get("configuration") or {}
    if not isinstance(configuration, dict):
        raise wrong("configuration", "an object")
    push = configuration.get("taskPushNotificationConfig")
    push = push or configuration.get("pushNotificationConfig")  # its name before 1.0
    if message.get("role", "ROLE_USER") not in ("ROLE_USER", 1):
        raise wrong("message.role", "ROLE_USER")
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        raise wrong("message.parts", "a list with at least one part")
    places = [f"message.parts.{number}" for number in range(len(parts))]
    if not all(isinstance(part, dict) for part in parts):
        raise wrong("message.parts", "a list of objects")
    content = [_part(part, where) for part, where in zip(parts, places, strict=True)]
    only_text = all(part["type"] == "text" for part in content)
    text = "\n".join(part["text"] for part in content) if only_text else content
    return SendRequest(
        digest=digest_of("a2a", body),
        task=_optional_text(message, "taskId"),
        context=_optional_text(message, "contextId"),
        message={"id": text_at(message, "messageId", "message"), "role": "user", "content": text},
        answer=_answer(parts),
        props=_props(message),
        immediately=configuration.get("returnImmediately") is True,
        history=length(configuration.get("historyLength")),
        push=read_push(push) if push else None,
    )


MOST_HISTORY = 10**9 - 1


def length(value: Any) -> int | None:
    """A ``historyLength``, of a body or of a query. Raises Invalid."""
    if value is None:
        return None
    text = value if isinstance(value, str) else str(value)[:20]
    if isinstance(value, bool) or (messages := whole(text, 0, MOST_HISTORY)) is None:
        raise wrong("historyLength", "a number from 0")
    return messages


def _answer(parts: list[Json]) -> Any:
    """The first ``data`` part; without one, the texts."""
    for part in parts:
        if "data" in part:
            return _whole(part["data"])
    return "\n".join(part["text"] for part in parts if "text" in part)


def _part(part: Json, where: str) -> Json:
    kind = part.get("mediaType")
    if not isinstance(kind, str | None):
        raise wrong(f"{where}.mediaType", "a string")
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if "data" in part:
        return {"type": "text", "text": dumps(part["data"])}
    if isinstance(part.get("url"), str):
        source = {"type": "url", "value": part["url"]}
    elif isinstance(part.get("raw"), str):
        try:
            base64.b64decode(part["raw"], validate=True)
        except binascii.Error:
            raise wrong(f"{where}.raw", "bytes in base64") from None
        kind = kind or "application/octet-stream"
        source = {"type": "data", "value": part["raw"]}
    else:
        raise Invalid("A part has a text, a url, raw bytes or data.", details={"path": where})
    medium = (kind or "").partition("/")[0]
    named = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    source |= {"mimeType": kind} if kind else {}
    return {"type": medium if medium in MEDIA else "document", "source": source, **named}


def _props(message: Json) -> Json:
    """``forwardedProps`` of the run: those in the message's metadata, if any."""
    metadata = message.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise wrong("message.metadata", "an object")
    props = metadata.get("forwardedProps") or {}
    if not isinstance(props, dict):
        raise wrong("message.metadata.forwardedProps", "an object")
    return {name: _whole(value) for name, value in props.items()}


def _whole(value: Any) -> Any:
    """A value whose whole numbers are integers: Protocol Buffers, which clients use, know none."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


def _optional_text(members: Json, name: str) -> str | None:
    return text_at(members, name, "message") if members.get(name) else None
