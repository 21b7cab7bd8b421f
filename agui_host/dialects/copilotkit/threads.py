"""A team's threads in CopilotKit's shape: the list, and messages, events and state of one.

Taken from ``@copilotkit/runtime`` 1.75. A thread that the team does not have is empty, since a
front end makes up the name of a thread before its first run.
"""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.dialects.copilotkit import wire as copilot_channel
from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.arguments import or_empty
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.strict_json import dumps
from agui_host.teams.authentication import Principal, principal_of
from runs.access import access, copilot_threads, start
from runs.access.copilot_threads import Listed, Place
from runs.lifecycle.logs import joining
from runs.models import Thread

PAGE, LONGEST_PAGE = 50, 200
EVENTS, MOST_EVENTS = 1_000, 5_000

Json = dict[str, Any]


@extend_schema(exclude=True)
class ThreadList(APIView):
    """CopilotKit's list of threads."""

    def get(self, request: Request) -> Response:
        """The team's threads, newest activity first."""
        principal, query = principal_of(request), request.query_params
        limit = _limit(query.get("limit"), PAGE, LONGEST_PAGE)
        cursor = query.get("cursor")
        agent = query.get("agentId")
        if agent == start.DEFAULT:
            agent = start.find_agent(principal, agent).slug
        before = _uuid(cursor) if cursor else None
        threads = copilot_threads.newest(principal, agent=agent, before=before, limit=limit + 1)
        page = threads[:limit]
        return Response(
            {
                "threads": [_thread(listed, principal) for listed in page],
                "nextCursor": str(page[-1].last.pk) if len(threads) > limit else None,
            }
        )


@extend_schema(exclude=True)
class ThreadMessages(APIView):
    """The messages of a thread."""

    def get(self, request: Request, thread_id: str) -> Response:
        """The newest messages, oldest first; ``nextCursor`` leads to the ones before."""
        standing = _standing(request, thread_id)
        messages = standing.fold.messages if standing else []
        limit = _limit(request.query_params.get("limit"), EVENTS, MOST_EVENTS)
        cursor = request.query_params.get("cursor")
        end = len(messages)
        if cursor is not None:
            end = next((i for i, each in enumerate(messages) if each["id"] == cursor), -1)
            if end < 0:
                raise BadCursor("This cursor does not belong to this list.")
        page = messages[max(end - limit, 0) : end]
        older = page[0]["id"] if end > limit else None
        return Response({"messages": list(map(_message, page)), "nextCursor": older})


@extend_schema(exclude=True)
class ThreadState(APIView):
    """The state of a thread."""

    def get(self, request: Request, thread_id: str) -> Response:
        """The state after the newest event; null before any run."""
        standing = _standing(request, thread_id)
        return Response({"state": standing.fold.state if standing else None})


@extend_schema(exclude=True)
class ThreadEvents(APIView):
    """The events of a thread."""

    def get(self, request: Request, thread_id: str) -> HttpResponse:
        """The stored events of all runs, from the oldest, exactly as they were sent."""
        query = request.query_params
        limit = _limit(query.get("limit"), EVENTS, MOST_EVENTS)
        after = _place(query["cursor"]) if query.get("cursor") else None
        thread = access.find_thread(principal_of(request), thread_id)
        page, reached = copilot_threads.events(thread, after, limit) if thread else ([], None)
        cursor = dumps(f"{reached.run}:{reached.position.name}") if reached else "null"
        body = f'{{"events":[{",".join(page)}],"nextCursor":{cursor}}}'
        return HttpResponse(body, content_type="application/json")


def _thread(listed: Listed, principal: Principal) -> Json:
    thread, last = listed.thread, listed.last
    moved = listed.moved_at
    return {
        "id": thread.thread_id,
        "name": thread.title or None,
        "agentId": last.agent.slug,
        "organizationId": principal.team.slug,
        "createdById": listed.started_by,
        "archived": thread.archived_at is not None,
        "createdAt": thread.created_at,
        "updatedAt": moved,
        "lastRunAt": last.started_at or last.created_at,
        "status": last.status,
    }


def _message(message: Json) -> Json:
    """In the form of CopilotKit's inspector: a tool call is ``{id, name, args}``."""
    members = {name: message[name] for name in _SHOWN if name in message}
    if calls := message.get("toolCalls"):
        members["toolCalls"] = [
            {
                "id": call["id"],
                "name": call["function"]["name"],
                "args": or_empty(call["function"]["arguments"]),
            }
            for call in calls
        ]
    return members


_SHOWN = ("id", "role", "content", "toolCallId", "activityType")


def _standing(request: Request, thread_id: str) -> joining.ThreadState | None:
    thread: Thread | None = access.find_thread(principal_of(request), thread_id)
    return joining.standing(thread.pk) if thread else None


def _limit(value: str | None, default: int, most: int) -> int:
    if value is None:
        return default
    if (limit := whole(value, 1, most)) is None:
        raise Invalid(f"limit must be 1 to {most}.", details={"path": "limit"})
    return limit


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadCursor("This cursor does not belong to this list.") from None


def _place(text: str) -> Place:
    try:
        return Place(*copilot_channel.place_of(text))
    except ValueError:
        raise BadCursor("This cursor does not belong to this list.") from None
