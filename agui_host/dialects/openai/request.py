"""What OpenAI's clients send, as a RunAgentInput: Responses with their items, and chats.

The host has the history of a conversation, so a request brings only new items. Other parameters for
the agent, such as the temperature, are in ``forwardedProps.openai``.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agui_host.dialects.openai.turns import is_task
from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input.fields import object_at, objects, text_at, wrong
from agui_host.protocol.input.run_agent_input import digest_of

Json = dict[str, Any]
OPTIONS = (
    "background", "frequency_penalty", "instructions", "max_completion_tokens", "max_output_tokens",
    "metadata", "parallel_tool_calls", "presence_penalty", "reasoning", "reasoning_effort",
    "response_format", "seed", "stop", "temperature", "text", "tool_choice", "top_p", "truncation",
    "user",
)  # fmt: skip
THREAD_HEADERS = ("x-thread-id", "x-openwebui-chat-id", "x-librechat-conversation-id")
NO_NAMES = ("new", "null", "undefined", "none")
MOST_PAIRS, LONGEST_NAME, LONGEST_TEXT = 16, 64, 512
ROLES = ("user", "assistant", "system", "developer")


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
    """``input`` is a RunAgentInput without a thread, with all messages of the request.

    ``thread`` names it, if the request does; else ``answer_id``, the id of its last answer, can
    find it. ``is_task``: a user interface asks for itself.
    """

    model: str
    input: Json
    digest: str
    stream: bool
    background: bool
    with_usage: bool
    thread: str | None
    answer_id: str | None
    is_task: bool


def read_response(body: Any) -> ResponseRequest:
    """Read the body of POST /v1/responses. Raises BadRequest or Invalid; nothing is written."""
    body = _object(body)
    conversation = _conversation(body)
    previous = _optional_text(body, "previous_response_id")
    if conversation and previous:
        raise BadRequest("Name a conversation or a previous response, not both.")
    _optional_text(body, "instructions")
    data = _common(body)
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    data["messages"], data["resume"] = [], []
    items = objects(items, "input")
    for number in _news(items):
        _item(items[number], f"input.{number}", data)
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


def _news(items: list[Json]) -> list[int]:
    """The numbers of the items that a thread lacks, if an answer leads to it.

    A client without a thread's name sends its whole history. An answer that an item of the agent
    follows is history, and so are the messages before a question that is answered now.
    """
    kinds = [item.get("type") for item in items]
    outputs = [
        number
        for number, item in enumerate(items)
        if kinds[number] == "function_call" or item.get("role") == "assistant"
    ]
    answers = [number for number, kind in enumerate(kinds) if kind == "mcp_approval_response"]
    new = [number for number in answers if number > max(outputs, default=-1)]
    questions = [n for n in range(max(new, default=0)) if kinds[n] == "mcp_approval_request"]
    begin = max(questions, default=-1)
    return [n for n in range(len(items)) if n in new or (n > begin and n not in answers)]


def read_items(value: Any) -> list[Json]:
    """The items of a conversation as messages. Raises Invalid."""
    data: Json = {"messages": [], "resume": []}
    for number, item in enumerate(objects(value, "items")):
        _item(item, f"items.{number}", data)
    messages: list[Json] = data["messages"]
    return messages


def read_metadata(value: Any) -> Json:
    """The metadata that a conversation keeps; none for null. Raises Invalid.

    It is bounded as OpenAI's is, since all who read a thread's row also read it.
    """
    _metadata(value)
    pairs: Json = value or {}
    if len(pairs) > MOST_PAIRS:
        raise wrong("metadata", f"an object of at most {MOST_PAIRS} members")
    for name, text in pairs.items():
        if len(name) > LONGEST_NAME or len(text) > LONGEST_TEXT:
            bound = f"{LONGEST_NAME} and {LONGEST_TEXT} characters"
            raise wrong("metadata", f"an object of names and strings of at most {bound}")
    return pairs


def read_chat(body: Any, named: str | None = None) -> ChatCompletionRequest:
    """Read the body of POST /v1/chat/completions. Raises BadRequest or Invalid.

    ``named``: the thread that the request's headers name.
    """
    body = _object(body)
    data = _common(body)
    messages = objects(body.get("messages"), "messages")
    if not messages:
        raise wrong("messages", "a list with at least one message")
    if body.get("n") not in (None, 1):
        raise wrong("n", "1")
    data["messages"] = [_chat(each, f"messages.{n}") for n, each in enumerate(messages)]
    answers = [each for each in messages if each["role"] == "assistant"]
    answer_id = answers[-1].get("id") if answers else None
    options = body.get("stream_options") or {}
    with_usage = isinstance(options, dict) and options.get("include_usage") is True
    return ChatCompletionRequest(
        text_at(body, "model", "model"),
        data,
        digest_of("chat/completions", body),
        _flag(body, "stream"),
        _flag(body, "background"),
        with_usage,
        named or _conversation(body) or _thread_of(body.get("metadata")),
        answer_id if isinstance(answer_id, str) else None,
        is_task(data["messages"]),
    )


def _conversation(body: Json) -> str | None:
    value = body.get("conversation")
    if isinstance(value, dict):
        value = value.get("id")
    if value is not None and (not isinstance(value, str) or not value):
        raise wrong("conversation", "the id of a conversation, or an object with it")
    return value


def _thread_of(metadata: Any) -> str | None:
    return metadata.get("thread_id") or None if isinstance(metadata, dict) else None


def thread_named(headers: Mapping[str, str]) -> str | None:
    """The thread that a chat's headers name; a placeholder that was not filled is no name."""
    for header in THREAD_HEADERS:
        name = headers.get(header, "").strip()
        if name and name.lower() not in NO_NAMES and not name.startswith("{"):
            return name
    return None


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
    """Add an input item to the messages or the answers.

    Other items, such as reasoning and calls of OpenAI's own tools, are of earlier responses: the
    host has the parts that it needs.
    """
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


def _message(item: Json, where: str) -> Json:
    role = item.get("role")
    if role not in ROLES:
        raise wrong(f"{where}.role", ", ".join(ROLES))
    named = {"id": item["id"]} if isinstance(item.get("id"), str) and item["id"] else {}
    content = item.get("content")
    if not isinstance(content, str):
        content = _parts(content, f"{where}.content")
        if role != "user" or [part["type"] for part in content] == ["text"]:
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
        case "input_image" if part.get("file_id") is not None:
            return _file("image", part, where)
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
            if file.get("file_id") is not None:
                return _file("document", file, where)
            if file.get("file_url") is not None:
                return _media("document", text_at(file, "file_url", where), where)
            return _media("document", text_at(file, "file_data", where), where)
    raise Invalid(f"This host does not know parts of type {kind}.", details={"path": where})


def _file(kind: str, part: Json, where: str) -> Json:
    """A part that refers to an uploaded file: one of this host, or any other for the agent."""
    name = text_at(part, "file_id", where)
    with suppress(ValueError):
        name = str(UUID(name.removeprefix("file-")))
    return {"type": kind, "source": {"type": "file", "value": name}}


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
