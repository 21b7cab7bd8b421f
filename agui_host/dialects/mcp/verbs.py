"""Agents as MCP's tools, runs as its calls and tasks, runs and threads as its resources."""

from typing import Any
from urllib.parse import quote, unquote

import uuid6

from agui_host.dialects import chats, tasks
from agui_host.dialects.mcp import forms, rpc
from agui_host.dialects.mcp.fold import INPUT_REQUIRED
from agui_host.errors import NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.fields import wrong
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.durations import timestamp_of
from agui_host.protocol.wire.room import Room, newest
from agui_host.runtimes import registry, team_agents
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.lifecycle import history, lifecycle
from runs.models import ACTIVE, Run, Status, without_bodies

Json = dict[str, Any]
MOST_RESOURCES = 300
"""Clients walk through all pages before they show the first, so there is only one."""
POLL_MS = 1_000
RUN, THREAD = "agui://runs/", "agui://threads/"
ARGUMENTS: Json = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "The message for the agent."},
        "thread_id": {
            "type": "string",
            "description": "A thread to continue; a new one without it.",
        },
    },
    "required": ["message"],
}
TEMPLATES = [
    {"uriTemplate": RUN + "{id}", "name": "run", "description": "The text of a run."},
    {"uriTemplate": THREAD + "{thread_id}", "name": "thread", "mimeType": "application/json"}
    | {"description": "The messages of a thread."},
]


def tools(principal: Principal) -> list[Json]:
    """The team's agents that are marked as tools and that the credential is for."""
    return [
        {
            "name": agent.slug,
            "title": agent.name,
            "description": agent.description or agent.name,
            "inputSchema": _shown(_own_schema(agent)),
        }
        for agent in _tools(principal)
    ]


def _tools(principal: Principal) -> list[Agent]:
    access.require(principal, "view")
    rows = Agent.objects.for_team(principal.team).filter(enabled=True, is_tool=True)
    return [agent for agent in rows.order_by("slug") if principal.may_use(agent.slug)]


def _own_schema(agent: Agent) -> Json | None:
    """The arguments that the agent itself describes, by its row or its code."""
    entry = registry.all().get(agent.target or agent.slug) if agent.kind == "python" else None
    own = agent.settings.get(team_agents.INPUT_SCHEMA) or (entry and entry.input_schema)
    return own if isinstance(own, dict) else None


def _shown(own: Json | None) -> Json:
    """A tool's schema: the agent's own, with the thread to continue."""
    if own is None:
        return ARGUMENTS
    thread = {"thread_id": ARGUMENTS["properties"]["thread_id"]}
    return {**own, "type": "object", "properties": {**thread, **own.get("properties", {})}}


def begin(
    principal: Principal, name: str, arguments: Any, key: str | None, digest: str
) -> list[Run]:
    """Start the run of a call. Raises NotFound for an unknown tool, and a start's errors."""
    agent = next((agent for agent in _tools(principal) if agent.slug == name), None)
    if agent is None:
        raise NotFound("There is no such tool.")
    own = _own_schema(agent)
    if own is None:
        text, thread = rpc.text_of(arguments)
        props: Json = {}
    else:
        values, thread = rpc.values_of(arguments, own)
        text, props = rpc.as_message(values), {"arguments": values}
    data: Json = {"threadId": thread or str(uuid6.uuid7()), "forwardedProps": props}
    data["messages"] = [{"role": "user", "content": text}]
    return [chats.begin(principal, data, agent=name, key=key, digest=digest).run]


def resume(
    principal: Principal,
    task_id: str,
    name: str | None,
    responses: Any,
    key: str | None,
    digest: str,
) -> list[Run]:
    """The runs of a call, continued if there is a response to each of its questions."""
    turn = tasks.find(principal, task_id)
    if name not in (None, turn[0].agent.slug):
        raise Invalid("This state belongs to another tool.", details={"path": "requestState"})
    if continued := tasks.continued(principal, turn, key, digest):
        return continued
    responses = {} if responses is None else responses
    if not isinstance(responses, dict):
        raise wrong("inputResponses", "an object")
    questions = tasks.questions(turn[-1])
    if not questions or any(question["id"] not in responses for question in questions):
        return turn
    answers = [forms.answer(question, responses[question["id"]]) for question in questions]
    return tasks.answer(principal, turn, answers, {}, key, digest)


def cancel(principal: Principal, task_id: str) -> list[Run]:
    """Ask a task to stop; an ended one stays as it is."""
    turn = tasks.find(principal, task_id, "cancel")
    lifecycle.cancel(turn[-1], principal)
    return turn


def task(turn: list[Run]) -> Json:
    """A task without its result."""
    first, last = turn[0], turn[-1]
    status = "working"
    if last.status not in ACTIVE:
        status = {
            Status.INTERRUPTED: INPUT_REQUIRED,
            Status.CANCELLED: "cancelled",
        }.get(Status(last.status), "completed")
    changed = last.ended_at or last.created_at
    return {
        "taskId": str(first.pk),
        "status": status,
        "createdAt": timestamp_of(first.created_at.timestamp() * 1000),
        "lastUpdatedAt": timestamp_of(changed.timestamp() * 1000),
        "ttlMs": None,
        "pollIntervalMs": POLL_MS,
    }


def resources(principal: Principal) -> list[Json]:
    """The newest runs that the caller may read, newest first."""
    rows = without_bodies(access.visible(principal).filter(purged_at=None))
    return [
        {
            "uri": f"{RUN}{run.pk}",
            "name": str(run.pk),
            "title": f"{run.agent.slug}, {run.status}, {run.created_at:%Y-%m-%d %H:%M}",
            "description": f"A run in the thread {run.thread.thread_id}.",
            "mimeType": "text/plain",
        }
        for run in rows.order_by("-journal_id")[:MOST_RESOURCES]
    ]


def resource(principal: Principal, uri: Any) -> Run | Json:
    """The run of an address, or the contents of a thread. Raises NotFound."""
    if not isinstance(uri, str):
        raise wrong("uri", "a string")
    if uri.startswith(RUN):
        return tasks.find(principal, uri.removeprefix(RUN))[0]
    thread = access.find_thread(principal, unquote(uri.removeprefix(THREAD)))
    if not uri.startswith(THREAD) or thread is None:
        raise NotFound("There is no such resource.")
    room = Room(f"/api/v1/threads/{thread.pk}")
    messages = history.current(thread.pk).messages
    fitting = newest(messages, room)
    cut = {"_meta": {"agui": {"cut": room.mark.strip()}}} if len(fitting) < len(messages) else {}
    address = THREAD + quote(thread.thread_id, safe="")
    return {"uri": address, "mimeType": "application/json", "text": dumps(fitting), **cut}
