"""The request of an AI SDK chat, as a RunAgentInput: ``{id, messages, trigger, messageId}``.

The host has the history. Of the messages those of the user count, and texts of the assistant where
the thread is new here; the last message, if it is the assistant's, brings results of the client's
tools and answers to questions. ``WorkflowChatTransport`` sends no ``id``: its chat is that of its
messages.
"""

from dataclasses import dataclass, replace
from typing import Any

from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input.fields import objects, text_at, wrong
from agui_host.protocol.input.run_agent_input import digest_of
from agui_host.protocol.strict_json import dumps

Json = dict[str, Any]
TRIGGERS = ("submit-message", "regenerate-message")
_NONE: frozenset[str] = frozenset()
MOST_ANSWERS = 100
OUTPUTS = ("output-available", "output-error")
VALUE, TEXT = "-value", "-text"
"""How the id of a client's result ends: whether its content is JSON, or the text that it was."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """``input`` is a RunAgentInput. ``continues``: the id of the message that the run adds to.

    ``replaces``: the id of the message of which another is wanted, and ``behind`` that of the last
    message that stays; each can be one of the assistant's, and so of the host's making.
    ``calls`` and ``approvals`` are the tool calls and questions that this message holds. ``digest``
    is that of the body. ``answers``: the ids of the assistant's messages if the body names no chat.
    """

    input: Json
    digest: str
    continues: str | None
    calls: frozenset[str]
    approvals: frozenset[str]
    replaces: str | None = None
    behind: str | None = None
    answers: tuple[str, ...] = ()


def read(body: Any) -> ChatRequest:
    """Read the body of a chat's POST. Raises BadRequest or Invalid; nothing is written."""
    if not isinstance(body, dict):
        raise BadRequest('The body must be a JSON object: {"id", "messages", "trigger"}.')
    if body.get("id") is None:
        request = _read(body, {})
        return replace(request, answers=_answers_in(body, request.replaces))
    return _read(body, {"threadId": text_at(body, "id", "id")})


def _answers_in(body: Json, replaces: str | None) -> tuple[str, ...]:
    """The ids of the newest messages of the assistant."""
    answers = [each["id"] for each in body["messages"] if each["role"] == "assistant"]
    return (*answers, *([replaces] if replaces else ()))[-MOST_ANSWERS:]


def _read(body: Json, chat: Json) -> ChatRequest:
    digest = digest_of("chat", body)
    trigger = body.get("trigger", TRIGGERS[0])
    if trigger not in TRIGGERS:
        raise wrong("trigger", f"one of {', '.join(TRIGGERS)}")
    messages = objects(body.get("messages"), "messages")
    if not messages:
        raise wrong("messages", "a list with at least one message")
    changes = None if body.get("messageId") is None else text_at(body, "messageId", "messageId")
    last, where = messages[-1], f"messages.{len(messages) - 1}"
    data: Json = {**chat, "forwardedProps": body.get("forwardedProps")}
    data |= {name: body[name] for name in ("state", "context") if name in body}
    data["tools"] = _tools(body.get("tools"))
    data["messages"] = [
        message
        for number, each in enumerate(messages)
        for message in _message(each, f"messages.{number}")
    ]
    if trigger == "regenerate-message":
        data["forwardedProps"] = {**_props(body), "regenerate": True}
        behind = text_at(last, "id", where)
        return ChatRequest(data, digest, None, _NONE, _NONE, replaces=changes, behind=behind)
    if _role(last, where) != "assistant":
        if changes is not None:
            if changes != last.get("id") or last["role"] != "user":
                raise wrong("messageId", "the id of the user's message that comes last")
            data["forwardedProps"] = {**_props(body), "edit": changes}
        return ChatRequest(data, digest, None, _NONE, _NONE)
    parts = _tool_parts(last, where)
    results, data["resume"] = _results(parts), _answers(parts, where)
    data["messages"] += results
    if not data["resume"] and not results:
        raise Invalid("The assistant's message brings no answer and no result of a tool.")
    return ChatRequest(
        data,
        digest,
        text_at(last, "id", where),
        frozenset(part["toolCallId"] for part in parts),
        frozenset(part["approval"]["id"] for part in parts if part.get("approval")),
    )


def _message(message: Json, where: str) -> list[Json]:
    """Zero or one AG-UI message, without tool calls: the host has those of its threads."""
    role, parts = _role(message, where), objects(message.get("parts"), f"{where}.parts")
    own: Json = {"id": text_at(message, "id", where), "role": role}
    if role == "user":
        user_parts = (_user_part(part, f"{where}.parts.{n}") for n, part in enumerate(parts))
        content = [part for part in user_parts if part]
        if [part["type"] for part in content] == ["text"]:
            return [{**own, "content": content[0]["text"]}]
        return [{**own, "content": content}]
    text = "".join(text_at(part, "text", where) for part in parts if part.get("type") == "text")
    return [{**own, "content": text}] if text else []


def _user_part(part: Json, where: str) -> Json | None:
    if part.get("type") == "text":
        return {"type": "text", "text": text_at(part, "text", where)}
    if part.get("type") != "file":
        return None
    kind, url = text_at(part, "mediaType", where), text_at(part, "url", where)
    medium = kind.partition("/")[0]
    medium = medium if medium in ("image", "audio", "video") else "document"
    source = {"type": "url", "value": url, "mimeType": kind}
    if url.startswith("data:"):
        head, comma, data = url.partition(",")
        if not comma or not head.endswith(";base64"):
            raise wrong(f"{where}.url", "an address, or a data: URL in base64")
        source = {"type": "data", "value": data, "mimeType": kind}
    named = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    return {"type": medium, "source": source, **named}


def _results(parts: list[Json]) -> list[Json]:
    """The outputs of the client's own tools."""
    messages = []
    for part in parts:
        if part.get("state") in OUTPUTS and not part.get("providerExecuted"):
            key = part["toolCallId"]
            output = part.get("output", part.get("errorText", ""))
            is_text = isinstance(output, str)
            message = {"id": key + (TEXT if is_text else VALUE), "role": "tool", "toolCallId": key}
            message["content"] = output if is_text else dumps(output)
            if part["state"] == "output-error":
                message["error"] = str(part.get("errorText", ""))
            messages.append(message)
    return messages


def _answers(parts: list[Json], where: str) -> list[Json]:
    """The approvals that this message brings, as a ``resume``."""
    answers = []
    for part in parts:
        approval = part.get("approval")
        if approval is None or part.get("state") != "approval-responded":
            continue
        if not isinstance(approval.get("approved"), bool):
            raise wrong(f"{where}.approval.approved", "true or false")
        answer: Json = {"interruptId": approval["id"], "status": "resolved"}
        answer["payload"] = {"approved": approval["approved"]}
        if isinstance(approval.get("reason"), str):
            answer["metadata"] = {"reason": approval["reason"]}
        answers.append(answer)
    return answers


def _tool_parts(message: Json, where: str) -> list[Json]:
    parts = [
        part
        for part in objects(message.get("parts"), f"{where}.parts")
        if str(part.get("type", "")).startswith(("tool-", "dynamic-tool"))
    ]
    for part in parts:
        text_at(part, "toolCallId", where)
        approval = part.get("approval")
        if approval is not None:
            if not isinstance(approval, dict):
                raise wrong(f"{where}.approval", "an object")
            text_at(approval, "id", f"{where}.approval")
    return parts


def _tools(value: Any) -> list[Json]:
    """The client's tools: a list as in AG-UI, or an object by name as AI SDK front ends send it."""
    if not isinstance(value, dict):
        return objects(value, "tools")
    return [
        {
            "name": name,
            "description": tool.get("description") or "",
            "parameters": tool.get("parameters", tool.get("inputSchema")),
        }
        for name, tool in value.items()
        if isinstance(tool, dict)
    ]


def _props(body: Json) -> Json:
    props = body.get("forwardedProps")
    return props if isinstance(props, dict) else {}


def _role(message: Json, where: str) -> str:
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        raise wrong(f"{where}.role", "user, assistant or system")
    return str(role)
