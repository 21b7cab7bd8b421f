"""The messages of an input: known roles keep their known members, other messages are left out.

A message without ``id`` gets one that stays the same when the same request is sent again.
"""

import hashlib
from typing import Any

import structlog

from protocol.input.fields import check_object, check_texts, picked, rename, text, wrong
from protocol.input.parts import clean_parts
from protocol.strict_json import dumps

log = structlog.get_logger(__name__)

SNAKE = {
    "tool_call_id": "toolCallId",
    "tool_calls": "toolCalls",
    "encrypted_value": "encryptedValue",
    "activity_type": "activityType",
    "subagent_run_id": "subagentRunId",
}
COMMON = ("role", "subagentRunId", "metadata", "content")
NAMED = (*COMMON, "name", "encryptedValue")
MEMBERS: dict[str, tuple[str, ...]] = {
    "developer": NAMED,
    "system": NAMED,
    "user": NAMED,
    "assistant": (*NAMED, "toolCalls"),
    "tool": (*COMMON, "encryptedValue", "toolCallId", "error"),
    "reasoning": (*COMMON, "encryptedValue"),
    "activity": (*COMMON, "activityType"),
}
TEXTS = ("name", "encryptedValue", "subagentRunId", "error")
WITH_PARTS = frozenset({"user", "tool"})


def clean_messages(value: Any, *, seed: str) -> list[dict[str, Any]]:
    """Check and complete the messages; ``seed`` makes minted ids repeatable. Raises Invalid."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong("messages", "a list")
    cleaned, unknown = [], list[str]()
    for index, message in enumerate(value):
        path = f"messages.{index}"
        if not isinstance(message, dict):
            raise wrong(path, "an object")
        if (message_or_none := _message(rename(message, SNAKE), path, seed, unknown)) is not None:
            cleaned.append(message_or_none)
    if unknown:
        log.warning("input.unknown", count=len(unknown), first=unknown[:5])
    return cleaned


def _message(
    message: dict[str, Any], path: str, seed: str, unknown: list[str]
) -> dict[str, Any] | None:
    role = text(message, "role", path)
    if role not in MEMBERS:
        unknown.append(f"{path}.role: {role[:40]}")
        return None
    cleaned = {"id": _identifier(message, path, seed), **picked(message, MEMBERS[role])}
    check_texts(cleaned, TEXTS, path)
    check_object(cleaned, "metadata", path)
    if role == "assistant":
        check_texts(cleaned, ("content",), path)
        if "toolCalls" in cleaned:
            cleaned["toolCalls"] = _tool_calls(cleaned["toolCalls"], f"{path}.toolCalls")
    elif role == "activity":
        text(cleaned, "activityType", path)
        if not isinstance(cleaned.get("content"), dict):
            raise wrong(f"{path}.content", "an object")
    else:
        cleaned["content"] = _content(cleaned.get("content", ""), role, f"{path}.content", unknown)
    if role == "tool":
        text(cleaned, "toolCallId", path)
    return cleaned


def _identifier(message: dict[str, Any], path: str, seed: str) -> str:
    value = message.get("id")
    if value is None or value == "":
        fingerprint = hashlib.sha256(dumps([seed, path, message]).encode()).hexdigest()
        return f"msg-{fingerprint[:24]}"
    return text(message, "id", path)


def _content(content: Any, role: str, path: str, unknown: list[str]) -> Any:
    if isinstance(content, str):
        return content
    if role not in WITH_PARTS:
        raise wrong(path, "a string")
    if not isinstance(content, list):
        raise wrong(path, "a string or a list of parts")
    return clean_parts(content, path, unknown)


def _tool_calls(calls: Any, path: str) -> list[dict[str, Any]]:
    if not isinstance(calls, list):
        raise wrong(path, "a list")
    return [_tool_call(call, f"{path}.{index}") for index, call in enumerate(calls)]


def _tool_call(call: Any, path: str) -> dict[str, Any]:
    """Check a call; a missing type is filled in, as ``function`` is the only one."""
    if not isinstance(call, dict) or not isinstance(function := call.get("function"), dict):
        raise wrong(path, "an object with an id and a function")
    cleaned = picked(rename(call, SNAKE), ("type", "encryptedValue", "metadata"))
    if cleaned.get("type", "function") != "function":
        raise wrong(f"{path}.type", "function")
    check_texts(cleaned, ("encryptedValue",), path)
    check_object(cleaned, "metadata", path)
    named = {name: text(function, name, f"{path}.function") for name in ("name", "arguments")}
    return {"type": "function", **cleaned, "id": text(call, "id", path), "function": named}
