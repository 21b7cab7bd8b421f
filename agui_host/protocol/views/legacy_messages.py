"""Converts messages and content parts for readers of AG-UI 0.x."""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.strict_json import dumps

Wire = dict[str, Any]
UNKNOWN_MEDIA = "application/octet-stream"


def message_for(message: Wire, *, reasoning: bool, media: bool, parts: bool) -> Wire | None:
    """A message for a reader that supports reasoning messages, media parts, or any parts.

    None for a message that it cannot hold. A reader without ``parts`` supports no activities
    either: both came with the same version.
    """
    role, content = message["role"], message.get("content")
    if (role == "reasoning" and not reasoning) or (role == "activity" and not parts):
        return None
    if not isinstance(content, list):
        return message
    if role == "tool" or not parts:
        return {**message, "content": as_text(content)}
    return {**message, "content": [_part(part, media=media) for part in content]}


def as_text(content: Any) -> str:
    """Content parts as one text; a part that is not text is named."""
    if isinstance(content, str):
        return content
    return "\n".join(map(_text, content))


def _text(part: Mapping[str, Any]) -> str:
    if part.get("type") == "text":
        return str(part["text"])
    source, metadata = part.get("source") or {}, part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, dict) else None
    if name is None and source.get("type") in ("url", "file"):
        name = source["value"]
    if name is None:
        name = source.get("mimeType", "")
    if not isinstance(name, str):
        name = dumps(name)
    return f"[{part.get('type')}: {name}]" if name else f"[{part.get('type')}]"


def _part(part: Wire, *, media: bool) -> Wire:
    """A user's part: a file that only its provider can read becomes its name."""
    if part["type"] == "text":
        return part
    source = part["source"]
    if source["type"] == "file":
        return {"type": "text", "text": _text(part)}
    if media:
        return part
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, dict) else None
    binary = {"type": "binary", "mimeType": source.get("mimeType", UNKNOWN_MEDIA)}
    binary["data" if source["type"] == "data" else "url"] = source["value"]
    return binary | ({"filename": name} if isinstance(name, str) else {})
