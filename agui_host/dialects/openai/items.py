"""Output items of OpenAI's Responses that come whole, and what both APIs say about usage."""

from collections.abc import Iterable
from typing import Any

from agui_host.protocol.input.arguments import or_empty
from agui_host.protocol.wire.fold import Event, Frame

LABEL = "host"
"""The ``server_label`` of tools that the agent runs: in OpenAI's words it is an MCP server's."""


def server_call(call_id: str, name: str) -> Frame:
    """A tool that the agent runs. No client takes an ``mcp_call`` for a call that it has to run."""
    return {
        "id": f"mcp_{call_id}",
        "type": "mcp_call",
        "server_label": LABEL,
        "name": name,
        "arguments": "",
        "output": None,
        "error": None,
        "approval_request_id": None,
        "status": "in_progress",
    }


def client_call(call_id: str, name: str) -> Frame:
    """A tool of the client, which answers with a ``function_call_output``."""
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": "",
        "status": "in_progress",
    }


def approval(question: Event, arguments: str) -> Frame:
    """An interrupt. It is answered with an ``mcp_approval_response``."""
    return {
        "id": question["id"],
        "type": "mcp_approval_request",
        "server_label": LABEL,
        "name": question.get("message") or question["reason"],
        "arguments": arguments,
    }


def usage(reported: Iterable[Event]) -> Frame:
    """The usage of all models of a run, in the words of Responses; zeros if none was reported.

    OpenAI's clients add the numbers up, and some fail on null.
    """
    entries = list(reported)

    def total(name: str) -> int:
        return sum(entry.get(name) or 0 for entry in entries)

    input, made = total("inputTokens"), total("outputTokens")
    return {
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": total("cachedInputTokens")},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": total("reasoningTokens")},
        "total_tokens": total("totalTokens") or input + made,
    }


def chat_usage(reported: Iterable[Event]) -> Frame:
    """The same in the words of Chat Completions."""
    counts = usage(reported)
    return {
        "prompt_tokens": counts["input_tokens"],
        "completion_tokens": counts["output_tokens"],
        "total_tokens": counts["total_tokens"],
    }


def of(message: Event) -> list[Frame]:
    """A message as items: its text, and each of its calls; none for a role that OpenAI lacks.

    A call's id is that of its item in a response.
    """
    calls = message.get("toolCalls") or ()
    own_text = of_message(message) if message.get("content") or not calls else None
    items = [] if own_text is None else [own_text]
    for call in calls:
        item = client_call(call["id"], call["function"]["name"])
        text = or_empty(call["function"]["arguments"])
        items.append({**item, "arguments": text, "status": "completed"})
    return items


def of_message(message: Event) -> Frame | None:
    """A message that a run brought, as an input item; None for a role that OpenAI lacks."""
    role, content = message["role"], message.get("content") or ""
    if role == "tool":
        key = message["toolCallId"]
        output = content if isinstance(content, str) else "".join(map(_text, content))
        item = {"id": message["id"], "type": "function_call_output", "call_id": key}
        return {**item, "output": output, "status": "completed"}
    if role not in ("user", "system", "developer", "assistant"):
        return None
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": content}] if isinstance(content, str) else []
    if not isinstance(content, str):
        parts = [_part(part, kind) for part in content]
    item = {"id": message["id"], "type": "message", "role": role, "status": "completed"}
    return {**item, "content": parts}


def _part(part: Event, kind: str) -> Frame:
    if part["type"] == "text":
        return {"type": kind, "text": part["text"]}
    source = part["source"]
    address = source["value"]
    if source["type"] == "file":
        kind = "input_image" if part["type"] == "image" else "input_file"
        return {"type": kind, "file_id": address}
    if source["type"] == "data":
        address = f"data:{source['mimeType']};base64,{address}"
    if part["type"] == "image":
        return {"type": "input_image", "detail": "auto", "image_url": address}
    return {"type": "input_file", "file_data" if source["type"] == "data" else "file_url": address}


def _text(part: Any) -> str:
    return part.get("text", "") if isinstance(part, dict) else ""
