"""The messages of an input: known roles and parts are kept, unknown ones left out.

A message without ``id`` gets one that is the same when the same request is sent again.
"""

import hashlib
from typing import Any

import structlog

from agui_project.errors import Invalid
from agui_project.strict_json import dumps

log = structlog.get_logger(__name__)

SNAKE = {
    "tool_call_id": "toolCallId",
    "tool_calls": "toolCalls",
    "encrypted_value": "encryptedValue",
    "activity_type": "activityType",
    "subagent_run_id": "subagentRunId",
    "mime_type": "mimeType",
}
COMMON = ("id", "role", "name", "metadata", "encryptedValue", "subagentRunId")
FIELDS = {
    "developer": (*COMMON, "content"),
    "system": (*COMMON, "content"),
    "user": (*COMMON, "content"),
    "assistant": (*COMMON, "content", "toolCalls"),
    "tool": (*COMMON, "content", "toolCallId", "error"),
    "reasoning": (*COMMON, "content"),
    "activity": (*COMMON, "content", "activityType"),
}
WITH_PARTS = frozenset({"user", "tool"})
PARTS = frozenset({"text", "image", "audio", "video", "document", "binary"})


def rename(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Spell known snake_case keys as the protocol does; the protocol's own spelling wins."""
    return {
        names.get(key, key): value
        for key, value in data.items()
        if names.get(key) not in data or key not in names
    }


def clean_messages(value: Any, *, seed: str) -> list[dict[str, Any]]:
    """Check and complete the messages; ``seed`` makes minted ids repeatable. Raises Invalid."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong("messages", "a list")
    cleaned = []
    for index, message in enumerate(value):
        path = f"messages.{index}"
        if not isinstance(message, dict):
            raise wrong(path, "an object")
        if (kept := _message(rename(message, SNAKE), path, seed)) is not None:
            cleaned.append(kept)
    return cleaned


def _message(message: dict[str, Any], path: str, seed: str) -> dict[str, Any] | None:
    role = message.get("role")
    if not isinstance(role, str):
        raise wrong(f"{path}.role", "a string")
    if role not in FIELDS:
        log.warning("input.unknown_role", path=path, role=role[:40])
        return None
    kept = {key: message[key] for key in FIELDS[role] if message.get(key) is not None}
    for key in ("name", "encryptedValue", "subagentRunId", "toolCallId", "error", "activityType"):
        if key in kept and not isinstance(kept[key], str):
            raise wrong(f"{path}.{key}", "a string")
    if not isinstance(kept.get("metadata", {}), dict):
        raise wrong(f"{path}.metadata", "an object")
    kept["id"] = _identifier(message, path, seed)
    if role == "assistant":
        _assistant(kept, path)
    elif role == "activity":
        if not isinstance(kept.get("content"), dict):
            raise wrong(f"{path}.content", "an object")
    else:
        kept["content"] = _content(kept.get("content", ""), role, path)
    if role == "tool" and "toolCallId" not in kept:
        raise wrong(f"{path}.toolCallId", "a string")
    return kept


def _identifier(message: dict[str, Any], path: str, seed: str) -> str:
    value = message.get("id")
    if value is None or value == "":
        fingerprint = hashlib.sha256(dumps([seed, path, message]).encode()).hexdigest()
        return f"msg-{fingerprint[:24]}"
    if not isinstance(value, str):
        raise wrong(f"{path}.id", "a string")
    return value


def _content(content: Any, role: str, path: str) -> Any:
    if isinstance(content, str):
        return content
    if role not in WITH_PARTS or not isinstance(content, list):
        raise wrong(f"{path}.content", "a string")
    parts = []
    for index, part in enumerate(content):
        where = f"{path}.content.{index}"
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise wrong(where, "an object with a type")
        if part["type"] not in PARTS:
            log.warning("input.unknown_part", path=where, type=part["type"][:40])
            continue
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise wrong(f"{where}.text", "a string")
        part = {key: value for key, value in part.items() if value is not None}
        if isinstance(part.get("source"), dict):
            part["source"] = rename(part["source"], SNAKE)
        parts.append(rename(part, SNAKE))
    return parts


def _assistant(message: dict[str, Any], path: str) -> None:
    if not isinstance(message.get("content", ""), str):
        raise wrong(f"{path}.content", "a string")
    calls = message.get("toolCalls", [])
    if not isinstance(calls, list):
        raise wrong(f"{path}.toolCalls", "a list")
    for index, call in enumerate(calls):
        where = f"{path}.toolCalls.{index}"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(call.get("id"), str):
            raise wrong(where, "an object with an id and a function")
        for key in ("name", "arguments"):
            if not isinstance(function.get(key), str):
                raise wrong(f"{where}.function.{key}", "a string")
        call.setdefault("type", "function")


def wrong(path: str, expected: str) -> Invalid:
    """The error for a value of the wrong type, with its place."""
    return Invalid(f"{path} must be {expected}.", details={"path": path})
