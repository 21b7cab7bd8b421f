"""Turns a RunAgentInput as clients actually send it into the form that is stored and run.

Lenient where the meaning is clear (snake_case keys, ``tools: null``, ``context: {}``, messages
without ``id``, a draft ``resume`` as one object, unknown members), strict where a guess could be
wrong: a known field of the wrong type is a 422 with its path.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import structlog
import uuid6

from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input import lenient
from agui_host.protocol.input.fields import rename, wrong
from agui_host.protocol.intake.gate import value_of
from agui_host.protocol.schema import RUN_AGENT_INPUT
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.values import Malformed, Missing

log = structlog.get_logger(__name__)

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
OF_ONE_REQUEST = frozenset(("regenerate", "edit", "command", "agentId", "onBusy"))
"""Members of ``forwardedProps`` that a later request of the same work does not have."""
SCRIPT = "script"
"""What the ``scripted`` agent plays: an answer's run would begin it again, and ask again."""


class OnBusy(StrEnum):
    """The effect of a new run whose thread already has an active one."""

    REJECT = "reject"
    ENQUEUE = "enqueue"
    CANCEL_RUNNING = "cancel_running"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The content of one request. ``body`` is a complete RunAgentInput in wire form.

    ``digest`` identifies the client's own request: an Idempotency-Key belongs to that.
    """

    thread_id: str
    run_id: str
    agent: str | None
    on_busy: OnBusy | None
    body: dict[str, Any]
    digest: str


def digest_of(*parts: Any) -> str:
    """The digest of a request: of its body, and of what its address adds to that."""
    # Each part alone: None next to a long body would cost a second look at all of its values.
    text = ",".join(map(dumps, parts))
    return hashlib.sha256(f"[{text}]".encode()).hexdigest()


def parse(
    data: Any, *, agent: str | None = None, on_busy: str | None = None, digest: str | None = None
) -> RunRequest:
    """Read a RunAgentInput. Raises BadRequest or Invalid; nothing is written.

    ``agent`` and ``on_busy`` come from the URL; in the body the agent is ``agentId`` or
    ``forwardedProps.agentId``, and the policy likewise ``onBusy``. Who makes ``data`` of another
    request gives the ``digest`` of that one: ``data`` can have ids that differ with each attempt.
    """
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object: a RunAgentInput.")
    if digest is None:
        digest = digest_of(agent, on_busy, data)
    data = rename(data, SNAKE)
    thread_id, run_id = _identifier(data, "threadId"), _identifier(data, "runId")
    props = data.get("forwardedProps")
    options = rename(props, SNAKE) if isinstance(props, dict) else {}
    body = {
        "threadId": thread_id,
        "runId": run_id,
        **_optional(data),
        "messages": _messages(data.get("messages"), dumps([thread_id, run_id])),
        "tools": _checked("tools", lenient.tools(data.get("tools"))),
        "context": _checked("context", lenient.context(data.get("context"))),
        "state": {} if data.get("state") is None else data["state"],
        "forwardedProps": {} if props is None else props,
    }
    if resume := lenient.resume(data.get("resume")):
        body["resume"] = _checked("resume", resume)
    return RunRequest(
        thread_id,
        run_id,
        agent or _text(data, "agentId") or _text(options, "agentId"),
        _policy(on_busy or _text(data, "onBusy") or _text(options, "onBusy")),
        body,
        digest,
    )


def lasting(body: Mapping[str, Any]) -> dict[str, Any]:
    """The ``forwardedProps`` of an input that a later request of the same work has, too."""
    props = body.get("forwardedProps")
    props = props if isinstance(props, dict) else {}
    return {name: value for name, value in props.items() if name not in OF_ONE_REQUEST}


def following(body: Mapping[str, Any], thread_id: str, on_busy: OnBusy) -> RunRequest:
    """A request of the host's own that goes on with an earlier input: without new messages."""
    run_id = str(uuid6.uuid7())
    follower = {
        "threadId": thread_id,
        "runId": run_id,
        "messages": [],
        "tools": body.get("tools", []),
        "context": body.get("context", []),
        "state": {},
        "forwardedProps": {k: v for k, v in lasting(body).items() if k != SCRIPT},
    }
    return RunRequest(thread_id, run_id, None, on_busy, follower, "")


def _checked(name: str, value: Any) -> Any:
    """A member as the schema table describes it. Raises Invalid, with the place."""
    try:
        return value_of(RUN_AGENT_INPUT.fields[name].kind, value)
    except Malformed as bad:
        where, problem = [name, *reversed(bad.path)], bad.problem
        if isinstance(bad, Missing):
            where, problem = [*where, bad.name], "must be there"
        path = ".".join(where)
        raise Invalid(f"{path} {problem}.", details={"path": path}) from None


def _messages(value: Any, seed: str) -> list[dict[str, Any]]:
    """The messages; what AG-UI does not know is left out, and logged."""
    filled = lenient.messages(value, seed)
    messages: list[dict[str, Any]] = _checked("messages", filled)
    if unknown := _size(filled) - _size(messages):
        log.warning("input.unknown", count=unknown)
    return messages


def _size(messages: list[dict[str, Any]]) -> int:
    """How many messages and parts there are."""
    contents = [message.get("content") for message in messages]
    return len(messages) + sum(len(content) for content in contents if isinstance(content, list))


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
