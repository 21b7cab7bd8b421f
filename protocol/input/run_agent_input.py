"""Turns a RunAgentInput as clients actually send it into the form that is stored and run.

Lenient where the meaning is clear (snake_case keys, ``tools: null``, ``context: {}``, messages
without ``id``, a draft ``resume`` as one object, unknown members), strict where a guess could be
wrong: a known field of the wrong type is a 422 with its path.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import uuid6

from protocol.errors import BadRequest
from protocol.input.fields import check_object, check_texts, picked, rename, wrong
from protocol.input.messages import clean_messages
from protocol.strict_json import dumps

MAX_ID = 255
MAX_VERSION = 20
SNAKE = {
    "thread_id": "threadId",
    "run_id": "runId",
    "parent_run_id": "parentRunId",
    "protocol_version": "protocolVersion",
    "forwarded_props": "forwardedProps",
    "agent_id": "agentId",
    "on_busy": "onBusy",
}


class OnBusy(StrEnum):
    """What a new run does while its thread already has one."""

    REJECT = "reject"
    ENQUEUE = "enqueue"
    CANCEL_RUNNING = "cancel_running"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The content of one request. ``body`` is a complete RunAgentInput in wire form."""

    thread_id: str
    run_id: str
    agent: str | None
    on_busy: OnBusy | None
    body: dict[str, Any]
    digest: str


def parse(data: Any, *, agent: str | None = None, on_busy: str | None = None) -> RunRequest:
    """Read a RunAgentInput. Raises BadRequest or Invalid; nothing is written.

    ``agent`` and ``on_busy`` come from the URL; in the body the agent is ``agentId`` or
    ``forwardedProps.agentId``, and the policy likewise ``onBusy``.
    """
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object: a RunAgentInput.")
    digest = hashlib.sha256(dumps([agent, on_busy, data]).encode()).hexdigest()
    data = rename(data, SNAKE)
    thread_id, run_id = _identifier(data, "threadId"), _identifier(data, "runId")
    props = data.get("forwardedProps")
    options = rename(props, SNAKE) if isinstance(props, dict) else {}
    body = {
        "threadId": thread_id,
        "runId": run_id,
        **_optional(data),
        "messages": clean_messages(data.get("messages"), seed=_seed(thread_id, run_id)),
        "tools": _objects(data, "tools", _tool),
        "context": _objects({"context": _entries(data.get("context"))}, "context", _context_entry),
        "state": {} if data.get("state") is None else data["state"],
        "forwardedProps": {} if props is None else props,
    }
    if resume := _objects(data, "resume", _resume_entry):
        body["resume"] = resume
    return RunRequest(
        thread_id,
        run_id,
        agent or _text(data, "agentId") or _text(options, "agentId"),
        _policy(on_busy or _text(data, "onBusy") or _text(options, "onBusy")),
        body,
        digest,
    )


def bare(thread_id: str, forwarded_props: dict[str, Any], on_busy: OnBusy) -> RunRequest:
    """A request of the host's own for a thread that exists: a new run without messages."""
    run_id = str(uuid6.uuid7())
    body = {
        "threadId": thread_id,
        "runId": run_id,
        "messages": [],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": forwarded_props,
    }
    return RunRequest(thread_id, run_id, None, on_busy, body, "")


def _seed(thread_id: str, run_id: str) -> str:
    return dumps([thread_id, run_id])


def _identifier(data: dict[str, Any], name: str) -> str:
    return _text(data, name, MAX_ID) or str(uuid6.uuid7())


def _text(data: dict[str, Any], name: str, longest: int | None = None) -> str | None:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong(name, "a string")
    if longest is not None and len(value or "") > longest:
        raise wrong(name, f"a string of at most {longest} characters")
    return value or None


def _optional(data: dict[str, Any]) -> dict[str, Any]:
    """parentRunId and protocolVersion, if sent."""
    members = {
        "parentRunId": _text(data, "parentRunId", MAX_ID),
        "protocolVersion": _text(data, "protocolVersion", MAX_VERSION),
    }
    return {name: value for name, value in members.items() if value}


def _policy(value: str | None) -> OnBusy | None:
    if value is None:
        return None
    if value not in set(OnBusy):
        raise wrong("onBusy", f"one of {', '.join(OnBusy)}")
    return OnBusy(value)


def _objects(
    data: dict[str, Any], name: str, clean: Callable[[dict[str, Any], str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """A list of objects; null and ``{}`` are an empty list, one object is a list of one."""
    value = data.get(name)
    if value is None or value == {}:
        return []
    entries = [value] if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise wrong(name, "a list of objects")
    return [clean(entry, f"{name}.{index}") for index, entry in enumerate(entries)]


def _tool(entry: dict[str, Any], path: str) -> dict[str, Any]:
    tool = {
        "name": _required(entry, "name", path),
        "description": "",
        **picked(entry, ("description", "parameters", "metadata")),
    }
    check_texts(tool, ("description",), path)
    check_object(tool, "metadata", path)
    return tool


def _entries(context: Any) -> Any:
    """``{"city": "Basel"}`` becomes one entry per key; an object with a ``value`` is one entry."""
    objects = [context] if isinstance(context, dict) else context
    if not isinstance(objects, list):
        return context
    entries: list[Any] = []
    for each in objects:
        if isinstance(each, dict) and "value" not in each:
            entries += [{"description": key, "value": value} for key, value in each.items()]
        else:
            entries.append(each)
    return entries


def _context_entry(entry: dict[str, Any], path: str) -> dict[str, Any]:
    value = entry.get("value")
    entry_or_none = {
        "description": "",
        **picked(entry, ("description",)),
        "value": value if isinstance(value, str) else dumps(value),
    }
    check_texts(entry_or_none, ("description",), path)
    return entry_or_none


def _resume_entry(entry: dict[str, Any], path: str) -> dict[str, Any]:
    entry = rename(entry, {"interrupt_id": "interruptId"})
    cleaned = {
        "interruptId": _required(entry, "interruptId", path),
        "status": "resolved",
        **picked(entry, ("status", "payload", "metadata")),
    }
    if cleaned["status"] not in ("resolved", "cancelled"):
        raise wrong(f"{path}.status", "resolved or cancelled")
    check_object(cleaned, "metadata", path)
    return cleaned


def _required(entry: dict[str, Any], name: str, path: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise wrong(f"{path}.{name}", "a non-empty string")
    return value
