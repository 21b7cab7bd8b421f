"""Runs as OpenAI's responses and completions, agents as its models."""

import json
from typing import Any
from uuid import UUID

import uuid6

from agui_host.dialects import chats
from agui_host.dialects.openai import items
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.request import ResponseRequest
from agui_host.dialects.openai.responses import PREFIX, Responses
from agui_host.errors import BadCursor, NotFound
from agui_host.protocol import patient_json
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.wire.fold import PLACES
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from events import journal
from runs.access import access, cursors, sight, start
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import erasure
from runs.models import Run

Json = dict[str, Any]
_MOST = 10**14
ECHOED = ("instructions", "metadata", "background", "temperature", "top_p", "max_output_tokens")
"""Members of a request that its response repeats."""


def begin(principal: Principal, request: ResponseRequest, key: str | None) -> Run:
    """Start the run of a response. Raises NotFound for an unknown model, response or run."""
    if request.previous and (run := start.earlier(principal, key, request.digest)):
        return run  # The previous response can have been deleted since.
    data = dict(request.input)
    data["threadId"] = request.conversation or str(uuid6.uuid7())
    if request.previous:
        previous = find(principal, request.previous)
        data |= {"threadId": previous.thread.thread_id, "parentRunId": previous.run_id}
    if request.conversation:
        data["forwardedProps"]["openai"]["conversation"] = request.conversation
    outcome = chats.begin(principal, data, agent=request.model, key=key, digest=request.digest)
    return outcome.run


def find(principal: Principal, response_id: str, action: str = "view") -> Run:
    """The run of a response. Raises NotFound for any other text, and for a deleted one."""
    try:
        key = UUID(response_id.removeprefix(PREFIX))
    except ValueError:
        raise NotFound("There is no such response.") from None
    run = access.find(principal, key, action)
    if run.purged_at is not None:
        raise NotFound("This response was deleted.")
    return run


def cancel(principal: Principal, response_id: str) -> Run:
    """Ask a run to stop; an ended one stays as it is."""
    run = find(principal, response_id, "cancel")
    lifecycle.cancel(run, principal)
    return run


def delete(principal: Principal, response_id: str) -> Json:
    """Delete a run's log; its messages stay in its conversation, if that has other runs."""
    run = find(principal, response_id)
    access.require_for(principal, "delete", run)
    erasure.erase_run(principal, run)
    return {"id": response_id, "object": "response", "deleted": True}


def fold(run: Run) -> Responses:
    """A new fold of the run's response."""
    body = patient_json.loads(run.input)
    props = body.get("forwardedProps")
    options = props.get("openai") if isinstance(props, dict) else None
    options = options if isinstance(options, dict) else {}
    head: Json = {name: options[name] for name in ECHOED if options.get(name) is not None}
    head["tools"] = [
        {"type": "function", "strict": None, **{n: tool.get(n) for n in _FUNCTION}}
        for tool in body.get("tools", ())
    ]
    if options.get("conversation"):
        head["conversation"] = {"id": options["conversation"]}
    head |= {"previous_response_id": _previous(run), "model": run.agent.slug}
    return Responses(str(run.pk), created_at=int(run.created_at.timestamp()), **head)


_FUNCTION = ("name", "description", "parameters")


def _previous(run: Run) -> str | None:
    if run.parent_run_id is None:
        return None
    rows = Run.objects.of_one_thread().filter(thread=run.thread_id, run_id=run.parent_run_id)
    key = rows.order_by("-attempt").values_list("pk", flat=True).first()
    return None if key is None else PREFIX + key.hex


def chat(run: Run, *, with_usage: bool = False) -> ChatCompletion:
    """A new fold of the run's completion."""
    created = int(run.created_at.timestamp())
    return ChatCompletion(str(run.pk), model=run.agent.slug, created=created, with_usage=with_usage)


def after(run: Run, text: str | None) -> int:
    """The number of ``starting_after``; -1 for all. Raises BadCursor, Purged, Reset."""
    if text is None:
        return -1
    if (number := whole(text, 0, _MOST)) is None:
        raise BadCursor("starting_after is the sequence_number of an event of this response.")
    cursors.place(run, number // PLACES)
    return number


def input_items(principal: Principal, run: Run) -> list[Json]:
    """The input items of the run's request, newest first as in OpenAI's lists."""
    first = journal.read_after(run.pk, 0, 1).rows
    body = json.loads(first[0][2]).get("input") if first else None
    if body is None and sight.of(principal, run) is not None:
        return []  # Only the log shows which messages are new to the thread.
    messages = (body or patient_json.loads(run.input))["messages"]
    return [item for message in reversed(messages) for item in reversed(items.of(message))]


def models(principal: Principal) -> list[Json]:
    """The team's agents that the credential is for."""
    access.require(principal, "view")
    rows = Agent.objects.for_team(principal.team).filter(enabled=True).select_related("team")
    rows = rows.order_by("slug")
    return [_model(agent) for agent in rows if principal.may_use(agent.slug)]


def _model(agent: Agent) -> Json:
    created = int(agent.created_at.timestamp())
    owner = {"object": "model", "created": created, "owned_by": agent.team.slug}
    return {"id": agent.slug, **owner}
