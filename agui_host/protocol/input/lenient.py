"""What clients leave out or spell otherwise, put in the form that the schema table describes.

Only missing members and other shapes are mended here; a wrong type is left for the
table to refuse.
"""

import hashlib
from typing import Any

from agui_host.protocol.input.fields import rename, wrong
from agui_host.protocol.strict_json import dumps

MESSAGE = {
    "tool_call_id": "toolCallId",
    "tool_calls": "toolCalls",
    "encrypted_value": "encryptedValue",
    "encrypted_value_type": "encryptedValueType",
    "activity_type": "activityType",
    "subagent_run_id": "subagentRunId",
}
MEDIA = frozenset({"image", "audio", "video", "document"})
WITH_PARTS = frozenset({"user", "tool"})
WITHOUT_CONTENT = frozenset({"assistant", "activity"})


def objects(value: Any, name: str) -> list[dict[str, Any]]:
    """A list of objects; null, ``{}`` and a single object are taken as intended."""
    if value is None or value == {}:
        return []
    entries = [value] if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise wrong(name, "a list of objects")
    return entries


def messages(value: Any, seed: str) -> Any:
    """Messages with ids and contents; ``seed`` makes minted ids repeatable."""
    if not isinstance(value, list):
        return [] if value is None else value
    return [
        _message(rename(message, MESSAGE), f"messages.{number}", seed)
        if isinstance(message, dict)
        else message
        for number, message in enumerate(value)
    ]


def tools(value: Any) -> list[dict[str, Any]]:
    """Tools with a description."""
    return [
        {"description": "", **known(tool), "name": _named(tool, "name", f"tools.{number}")}
        for number, tool in enumerate(objects(value, "tools"))
    ]


def context(value: Any) -> list[dict[str, Any]]:
    """Entries of text; ``{"city": "Basel"}`` is one per key, unless it has a ``value``."""
    filled = [value] if isinstance(value, dict) else value
    if isinstance(filled, list):
        filled = [
            entry
            for each in filled
            for entry in (
                [{"description": key, "value": part} for key, part in each.items()]
                if isinstance(each, dict) and "value" not in each
                else [each]
            )
        ]
    return [
        {"description": "", **known(entry), "value": _text(entry.get("value"))}
        for entry in objects(filled, "context")
    ]


def resume(value: Any) -> list[dict[str, Any]]:
    """Answers with a status; a payload can be null."""
    entries = [rename(entry, {"interrupt_id": "interruptId"}) for entry in objects(value, "resume")]
    return [
        {
            "status": "resolved",
            **known(entry),
            **({"payload": entry["payload"]} if "payload" in entry else {}),
            "interruptId": _named(entry, "interruptId", f"resume.{number}"),
        }
        for number, entry in enumerate(entries)
    ]


def known(members: dict[str, Any]) -> dict[str, Any]:
    """The members that have a value; null is the same as absent."""
    return {name: value for name, value in members.items() if value is not None}


def _message(message: dict[str, Any], path: str, seed: str) -> dict[str, Any]:
    filled = known(message)
    if not isinstance(filled.get("role"), str):
        raise wrong(f"{path}.role", "a string")
    if filled["role"] in WITH_PARTS and isinstance(content := filled.get("content"), list):
        for number, part in enumerate(content):
            _check_part(part, f"{path}.content.{number}")
    if filled.get("id", "") == "":
        fingerprint = hashlib.sha256(dumps([seed, path, message]).encode()).hexdigest()
        filled["id"] = f"msg-{fingerprint[:24]}"
    if filled["role"] not in WITHOUT_CONTENT:
        filled.setdefault("content", "")
    elif isinstance(calls := filled.get("toolCalls"), list):
        filled["toolCalls"] = [
            {"type": "function", **known(call)} if isinstance(call, dict) else call
            for call in calls
        ]
    return filled


def _check_part(part: Any, path: str) -> None:
    """A part without a type is an error; a part of an unknown type is left out."""
    _check_typed(part, path)
    if part["type"] in MEDIA:
        _check_typed(part.get("source"), f"{path}.source")
    if part["type"] == "binary":
        mime = part.get("mimeType", part.get("mime_type"))
        if not isinstance(mime, str):
            raise wrong(f"{path}.mimeType", "a string")


def _check_typed(value: Any, path: str) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise wrong(path, "an object with a type")


def _named(members: dict[str, Any], name: str, path: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not value:
        raise wrong(f"{path}.{name}", "a non-empty string")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)
