"""What OpenAI's clients send, as a RunAgentInput: Responses with their items, and chats.

The host has the history of a conversation, so a request brings what is new. What an agent may want
to know besides, such as the temperature, is in ``forwardedProps.openai``.
"""

from dataclasses import dataclass
from typing import Any

from protocol.errors import BadRequest, Invalid
from protocol.input.fields import object_at, objects, text_at, wrong
from protocol.input.run_agent_input import digest_of

Json = dict[str, Any]
OPTIONS = (
    "background", "frequency_penalty", "instructions", "max_completion_tokens", "max_output_tokens",
    "metadata", "parallel_tool_calls", "presence_penalty", "reasoning", "reasoning_effort",
    "response_format", "seed", "stop", "temperature", "text", "tool_choice", "top_p", "truncation",
    "user",
)  # fmt: skip
ROLES = ("user", "assistant", "system", "developer")
IGNORED = ("reasoning", "item_reference", "mcp_call", "mcp_approval_request", "mcp_list_tools")
"""Items of earlier responses that clients send back: the host has them."""


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """``input`` is a RunAgentInput without a thread; ``previous`` or ``conversation`` names it."""

    model: str
    input: Json
    digest: str
    stream: bool
    background: bool
    previous: str | None
    conversation: str | None


@dataclass(frozen=True, slots=True)
class ChatCompletionRequest:
    """``input`` is a RunAgentInput for a new thread: this API has no conversations."""

    model: str
    input: Json
    digest: str
    stream: bool
    with_usage: bool


def read_response(body: Any) -> ResponseRequest:
    """Read the body of POST /v1/responses. Raises BadRequest or Invalid; nothing is written."""
    body = _object(body)
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    previous = _optional_text(body, "previous_response_id")
    if conversation is not None and (not isinstance(conversation, str) or not conversation):
        raise wrong("conversation", "the id of a conversation, or an object with it")
    if conversation and previous:
        raise BadRequest("Name a conversation or a previous response, not both.")
    _optional_text(body, "instructions")
    data = _common(body)
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    data["messages"], data["resume"] = [], []
    for number, item in enumerate(objects(items, "input")):
        _item(item, f"input.{number}", data)
    if not data["messages"] and not data["resume"]:
        raise wrong("input", "a text, or a list of items")
    if body.get("instructions"):
        data["context"] = [{"description": "Instructions", "value": body["instructions"]}]
    return ResponseRequest(
        text_at(body, "model", "model"),
        data,
        digest_of("responses", body),
        _flag(body, "stream"),
        _flag(body, "background"),
        previous,
        conversation,
    )


def read_chat(body: Any) -> ChatCompletionRequest:
    """Read the body of POST /v1/chat/completions. Raises BadRequest or Invalid."""
    body = _object(body)
    data = _common(body)
    messages = objects(body.get("messages"), "messages")
    if not messages:
        raise wrong("messages", "a list with at least one message")
    if body.get("n") not in (None, 1):
        raise wrong("n", "1")
    data["messages"] = [_chat(each, f"messages.{n}") for n, each in enumerate(messages)]
    options = body.get("stream_options") or {}
    with_usage = isinstance(options, dict) and options.get("include_usage") is True
    return ChatCompletionRequest(
        text_at(body, "model", "model"),
        data,
        digest_of("chat/completions", body),
        _flag(body, "stream"),
        with_usage,
    )


def _common(body: Json) -> Json:
    props = body.get("forwardedProps", {})
    if not isinstance(props, dict):
        raise wrong("forwardedProps", "an object")
    _metadata(body.get("metadata"))
    options = {name: body[name] for name in OPTIONS if body.get(name) is not None}
    tools = [
        tool
        for number, each in enumerate(objects(body.get("tools"), "tools"))
        if (tool := _tool(each, f"tools.{number}"))
    ]
    return {"forwardedProps": {**props, "openai": options}, "tools": tools}


def _metadata(value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise wrong("metadata", "an object of strings")


def _tool(tool: Json, where: str) -> Json | None:
    """A function of the client; tools that OpenAI runs are not here, and left out."""
    if tool.get("type", "function") != "function":
        return None
    function = tool.get("function", tool)
    if not isinstance(function, dict):
        raise wrong(f"{where}.function", "an object")
    return {
        "name": text_at(function, "name", where),
        "description": function.get("description") or "",
        "parameters": function.get("parameters"),
    }


def _item(item: Json, where: str, data: Json) -> None:
    """Add an input item to the messages or the answers."""
    kind = item.get("type", "message")
    messages: list[Json] = data["messages"]
    if kind == "message":
        messages.append(_message(item, where))
    elif kind == "function_call":
        call = {"id": text_at(item, "call_id", where), "type": "function"}
        call_of = {"name": text_at(item, "name", where), "arguments": item.get("arguments") or "{}"}
        messages.append({"role": "assistant", "toolCalls": [{**call, "function": call_of}]})
    elif kind == "function_call_output":
        key, output = text_at(item, "call_id", where), item.get("output")
        content = output if isinstance(output, str) else _parts(output, f"{where}.output")
        messages.append(
            {"id": f"{key}-result", "role": "tool", "toolCallId": key, "content": content}
        )
    elif kind == "mcp_approval_response":
        answer: Json = {"interruptId": text_at(item, "approval_request_id", where)}
        if not isinstance(item.get("approve"), bool):
            raise wrong(f"{where}.approve", "true or false")
        answer |= {"status": "resolved", "payload": {"approved": item["approve"]}}
        if isinstance(item.get("reason"), str):
            answer["metadata"] = {"reason": item["reason"]}
        data["resume"].append(answer)
    elif kind not in IGNORED:
        raise Invalid(f"This host does not know items of type {kind}.", details={"path": where})


def _message(item: Json, where: str) -> Json:
    role = item.get("role")
    if role not in ROLES:
        raise wrong(f"{where}.role", ", ".join(ROLES))
    named = {"id": item["id"]} if isinstance(item.get("id"), str) and item["id"] else {}
    content = item.get("content")
    if not isinstance(content, str):
        content = _parts(content, f"{where}.content")
        if role != "user":
            content = "".join(part.get("text", "") for part in content)
    return {**named, "role": role, "content": content}


def _chat(message: Json, where: str) -> Json:
    """A message of a chat: that of AG-UI, but for the spelling and the parts."""
    role = message.get("role")
    if role not in (*ROLES, "tool"):
        raise wrong(f"{where}.role", ", ".join((*ROLES, "tool")))
    if role == "tool":
        content = message.get("content")
        result = content if isinstance(content, str) else _parts(content, f"{where}.content")
        key = text_at(message, "tool_call_id", where)
        return {"role": "tool", "toolCallId": key, "content": result}
    if role == "assistant" and message.get("tool_calls"):
        calls = objects(message["tool_calls"], f"{where}.tool_calls")
        text = message.get("content")
        return {"role": role, "toolCalls": calls, "content": text if isinstance(text, str) else ""}
    return _message(message, where)


def _parts(content: Any, where: str) -> list[Json]:
    return [_part(part, f"{where}.{n}") for n, part in enumerate(objects(content, where))]


def _part(part: Json, where: str) -> Json:
    kind = part.get("type")
    match kind:
        case "input_text" | "output_text" | "text" | "refusal":
            name = "refusal" if kind == "refusal" else "text"
            return {"type": "text", "text": text_at(part, name, where)}
        case "input_image":
            return _media("image", text_at(part, "image_url", where), where)
        case "image_url":
            image = part.get("image_url")
            return _media("image", text_at(object_at(image, where), "url", where), where)
        case "input_audio":
            audio = object_at(part.get("input_audio"), where)
            mime = f"audio/{text_at(audio, 'format', where)}"
            source = {"type": "data", "value": text_at(audio, "data", where), "mimeType": mime}
            return {"type": "audio", "source": source}
        case "input_file" | "file":
            file = part if kind == "input_file" else object_at(part.get("file"), where)
            if file.get("file_url") is not None:
                return _media("document", text_at(file, "file_url", where), where)
            return _media("document", text_at(file, "file_data", where), where)
    raise Invalid(f"This host does not know parts of type {kind}.", details={"path": where})


def _media(kind: str, url: str, where: str) -> Json:
    if not url.startswith("data:"):
        return {"type": kind, "source": {"type": "url", "value": url}}
    head, comma, data = url.removeprefix("data:").partition(",")
    mime, _, coding = head.partition(";")
    if not comma or coding != "base64" or not mime:
        raise wrong(where, "an address, or a data: URL in base64")
    return {"type": kind, "source": {"type": "data", "value": data, "mimeType": mime}}


def _object(body: Any) -> Json:
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    return body


def _flag(body: Json, name: str) -> bool:
    value = body.get(name)
    if not isinstance(value, bool | None):
        raise wrong(name, "true or false")
    return bool(value)


def _optional_text(body: Json, name: str) -> str | None:
    return None if body.get(name) is None else text_at(body, name, name)
