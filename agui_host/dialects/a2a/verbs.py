"""Runs as A2A's tasks, threads as its contexts, agents as cards; the same permissions as elsewhere.

A task is a run and the runs that continue it with answers; its id is the first run's.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any
from uuid import UUID

import uuid6
from django.db.models import QuerySet

from agui_host.dialects import chats, tasks
from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.a2a.push_messages import STATES
from agui_host.dialects.a2a.request import SendRequest
from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.input.run_agent_input import digest_of
from agui_host.protocol.wire.durations import timestamp_of
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from agui_project import cli
from runs.access import access, start
from runs.lifecycle import lifecycle, turns
from runs.models import ACTIVE, Run, Status, without_bodies

Json = dict[str, Any]
ROOT = "/a2a"
VERSION, OLDER_VERSION = "1.0", "0.3.0"
BEARER = {"scheme": "Bearer"}
TEXT = "text/plain"
SENDABLE = [TEXT, "application/json", "image/*", "audio/*", "video/*", "application/*"]
ANY_STATE = ("", "TASK_STATE_UNSPECIFIED")
OTHER_STATES = ("TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED")
"""States of A2A's that no task has here."""
PAGE, LARGEST_PAGE = 50, 100
MOST_COUNTED = 1_000


class TaskNotCancelable(BadRequest):
    """This task has ended, or waits for an answer; there is nothing to cancel."""

    code = "task_not_cancelable"


class UnsupportedOperation(BadRequest):
    """This cannot be done with the task in its current state."""

    code = "unsupported_operation"


def agents(principal: Principal) -> list[Agent]:
    """The agents that the credential is for."""
    access.require(principal, "view")
    rows = Agent.objects.for_team(principal.team).filter(enabled=True).select_related("team")
    return [agent for agent in rows.order_by("slug") if principal.may_use(agent.slug)]


def card(principal: Principal, base: str, slug: str | None) -> Json:
    """The card of an agent, or of the team as one: its default agent, with each agent as a skill.

    ``base`` is this host's address. Raises UnknownAgent.
    """
    access.require(principal, "view")
    root = f"{base}{ROOT}"
    if slug is None:
        name = principal.team.name
        return _card(name, f"The agents of {name}.", root, agents(principal))
    agent = start.find_agent(principal, slug)
    return _card(agent.name, _about(agent), f"{root}/{agent.slug}", [agent])


def _card(name: str, description: str, url: str, skills: list[Agent]) -> Json:
    """Clients take the first interface that they speak; those of 0.3 read ``url`` and its like."""
    address = {"url": url, "protocolVersion": VERSION}
    return {
        "name": name,
        "description": description,
        "version": cli.version(),
        "supportedInterfaces": [
            {**address, "protocolBinding": "JSONRPC"},
            {**address, "protocolBinding": "HTTP+JSON"},
        ],
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": OLDER_VERSION,
        "capabilities": {
            "streaming": True,
            "pushNotifications": True,
            "extendedAgentCard": False,
        },
        "securitySchemes": {"key": {"httpAuthSecurityScheme": BEARER, "type": "http", **BEARER}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "security": [{"key": []}],
        "defaultInputModes": SENDABLE,
        "defaultOutputModes": [TEXT],
        "skills": [
            {"id": agent.slug, "name": agent.name, "description": _about(agent), "tags": ["agent"]}
            for agent in skills
        ],
    }


def _about(agent: Agent) -> str:
    return agent.description or agent.name


def begin(
    principal: Principal, slug: str | None, request: SendRequest, key: str | None
) -> list[Run]:
    """Start a task, answer what one asked, or send a working one a message; the task's runs.

    Raises TaskNotFound, UnsupportedOperation, and a start's errors.
    """
    digest = digest_of(slug, request.digest)
    if request.task is None:
        data: Json = {
            "threadId": request.context or str(uuid6.uuid7()),
            "messages": [request.message],
        }
        data["forwardedProps"] = request.props
        agent = slug or start.find_agent(principal, None).slug
        return [chats.begin(principal, data, agent=agent, key=key, digest=digest).run]
    turn = find(principal, slug, request.task)
    if continued := tasks.continued(principal, turn, key, digest):
        return continued
    asking = turn[-1]
    if request.context not in (None, asking.thread.thread_id):
        raise Invalid("This task belongs to another context.", details={"path": "message"})
    if asking.status in ACTIVE and chats.steer(principal, asking, request.message):
        return turn
    names = [question["id"] for question in tasks.questions(asking)]
    if not names:
        raise UnsupportedOperation("This task waits for no answer; send a new one in its context.")
    answers = [
        {"interruptId": name, "status": "resolved", "payload": request.answer} for name in names
    ]
    return tasks.answer(principal, turn, answers, request.props, key, digest)


def find(principal: Principal, slug: str | None, task_id: str, action: str = "view") -> list[Run]:
    """The runs of a task of this agent, or of any without ``slug``. Raises TaskNotFound."""
    turn = tasks.find(principal, task_id, action)
    if slug not in (None, turn[0].agent.slug):
        raise tasks.TaskNotFound
    return turn


def running(principal: Principal, slug: str | None, task_id: str) -> list[Run]:
    """The runs of a task to subscribe to. Raises UnsupportedOperation if it has ended."""
    turn = find(principal, slug, task_id)
    if turn[-1].status not in (*ACTIVE, Status.INTERRUPTED):
        raise UnsupportedOperation("This task has ended; get it instead.")
    return turn


def cancel(principal: Principal, slug: str | None, task_id: str) -> list[Run]:
    """Ask a task to stop. Raises TaskNotCancelable if it does not run."""
    turn = find(principal, slug, task_id, "cancel")
    if turn[-1].status not in ACTIVE:
        raise TaskNotCancelable
    lifecycle.cancel(turn[-1], principal)
    return turn


class BadParameter(Invalid):
    """A parameter of the query is wrong."""

    # A2A's status of INVALID_ARGUMENT is 400.
    code = "bad_parameter"
    status = 400


def fold(turn: list[Run]) -> Task:
    """A new fold of a task, to be fed with the events of its runs."""
    return Task(str(turn[0].pk), context=turn[0].thread.thread_id)


def summary(turn: list[Run]) -> Json:
    """A task of a list: its state, without its logs' contents."""
    last = turn[-1]
    changed = last.ended_at or last.created_at
    stamp = timestamp_of(changed.timestamp() * 1000)
    status = {"state": STATES[Status(last.status)], "timestamp": stamp}
    return {"id": str(turn[0].pk), "contextId": last.thread.thread_id, "status": status}


def page(principal: Principal, slug: str | None, query: Any) -> tuple[list[list[Run]], Json]:
    """The tasks of a list, newest first, each as its runs; and the page's members of the answer.

    Raises BadRequest for a bad page size, token or state.
    """
    size = page_size(query)
    rows = access.visible(principal).filter(purged_at=None, answers__isnull=True)
    rows = without_bodies(rows)
    if slug is not None:
        rows = rows.filter(agent__slug=start.find_agent(principal, slug).slug)
    if query.get("contextId"):
        rows = rows.filter(thread__thread_id=query["contextId"])
    if state := wanted_state(query):
        rows = rows.filter(status__in=_statuses(state))
    total = rows.order_by()[:MOST_COUNTED].count()
    newest = list(_before(rows, query.get("pageToken")).order_by("-journal_id")[: size + 1])
    listed = [
        tasks.of(principal, run) if run.status == Status.INTERRUPTED else [run]
        for run in newest[:size]
    ]
    if query.get("includeArtifacts") == "true":
        listed = listed[: _number_that_fit(listed)]
    following = str(listed[-1][0].pk) if len(newest) > len(listed) else ""
    about = {"nextPageToken": following, "pageSize": size, "totalSize": total}
    return listed, about


def wanted_state(query: Mapping[str, str]) -> str | None:
    """The only state that a list is about. Raises BadRequest."""
    state = query.get("status", "")
    if state in ANY_STATE:
        return None
    if state not in (*STATES.values(), *OTHER_STATES):
        raise _bad("status", "the name of a state of A2A's tasks")
    return state


def _statuses(state: str) -> list[Status]:
    """Those of first runs whose task can be in that state: one that asked may have continued."""
    own = [status for status, name in STATES.items() if name == state]
    return [*own, Status.INTERRUPTED]


def _number_that_fit(listed: list[list[Run]]) -> int:
    """How many tasks have logs of at most ``turns.MAX_BYTES`` together; at least one."""
    sizes = accumulate(sum(run.journal.bytes for run in turn) for turn in listed)
    return max(1, sum(size <= turns.MAX_BYTES for size in sizes))


def _before(rows: QuerySet[Run], token: str | None) -> QuerySet[Run]:
    if not token:
        return rows
    return rows.filter(journal_id__lt=page_token(token))


def page_token(text: str) -> UUID:
    """The key in a ``pageToken``. Raises BadRequest."""
    try:
        return UUID(text)
    except ValueError:
        raise _bad("pageToken", "the nextPageToken of a page") from None


def page_size(query: Mapping[str, str]) -> int:
    """The ``pageSize`` of a query. Raises BadRequest."""
    number = whole(query.get("pageSize") or str(PAGE), 1, LARGEST_PAGE)
    if number is None:
        raise _bad("pageSize", f"a number from 1 to {LARGEST_PAGE}")
    return number


def _bad(name: str, expected: str) -> BadParameter:
    return BadParameter(f"{name} must be {expected}.", details={"path": name})
