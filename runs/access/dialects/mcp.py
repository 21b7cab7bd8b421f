"""Agents as MCP's tools, runs as its calls and tasks, runs and threads as its resources."""

from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

import uuid6

from agui_project.errors import NotFound
from protocol.dialects.durations import timestamp_of
from protocol.dialects.mcp import forms
from protocol.dialects.mcp.result import INPUT_REQUIRED
from protocol.dialects.room import Room, newest
from protocol.errors import Invalid
from protocol.input.fields import wrong
from protocol.strict_json import dumps
from runs.access import access
from runs.access.dialects import chats, tasks
from runs.lifecycle import history, lifecycle
from runs.models import ACTIVE, Run, Status, without_bodies
from runtimes.models import Agent
from teams.authentication import Principal

Json = dict[str, Any]
PAGE = 50
POLL_MS = 1_000
RUN, THREAD = "agui://runs/", "agui://threads/"
ARGUMENTS = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "What to tell the agent."},
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
    access.require(principal, "view")
    rows = Agent.objects.for_team(principal.team).filter(enabled=True, is_tool=True)
    return [
        {
            "name": agent.slug,
            "title": agent.name,
            "description": agent.description or agent.name,
            "inputSchema": ARGUMENTS,
        }
        for agent in rows.order_by("slug")
        if principal.may_use(agent.slug)
    ]


def begin(
    principal: Principal, name: str, text: str, thread: str | None, key: str | None, digest: str
) -> list[Run]:
    """Start the run of a call. Raises NotFound for an unknown tool, and what a start raises."""
    if name not in [tool["name"] for tool in tools(principal)]:
        raise NotFound("There is no such tool.")
    data: Json = {"threadId": thread or str(uuid6.uuid7())}
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
    """Ask a task to stop; one that does not run stays as it is."""
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


def resources(principal: Principal, cursor: Any) -> Json:
    """A page of the runs that the caller may read, newest first."""
    rows = without_bodies(access.visible(principal).filter(purged_at=None))
    if cursor is not None:
        try:
            rows = rows.filter(journal_id__lt=UUID(cursor))
        except (ValueError, TypeError, AttributeError):
            raise wrong("cursor", "the nextCursor of a page") from None
    page = list(rows.order_by("-journal_id")[: PAGE + 1])
    listed = [
        {
            "uri": f"{RUN}{run.pk}",
            "name": str(run.pk),
            "title": f"{run.agent.slug}, {run.status}, {run.created_at:%Y-%m-%d %H:%M}",
            "description": f"A run in the thread {run.thread.thread_id}.",
            "mimeType": "text/plain",
        }
        for run in page[:PAGE]
    ]
    following = {"nextCursor": str(page[PAGE - 1].pk)} if len(page) > PAGE else {}
    return {"resources": listed, **following}


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
