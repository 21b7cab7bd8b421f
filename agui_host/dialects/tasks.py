"""Tasks of other protocols: a run, and those runs that answer it, under its first id."""

import json
from typing import Any
from uuid import UUID

from agui_host.dialects import chats
from agui_host.errors import NotFound
from agui_host.teams.authentication import Principal
from runs.access import access, sight, start
from runs.lifecycle import interrupts, turns
from runs.models import InterruptStatus, Run

Json = dict[str, Any]


class TaskNotFound(NotFound):
    """There is no such task."""

    code = "task_not_found"


def find(principal: Principal, task_id: str, action: str = "view") -> list[Run]:
    """The runs of a task. Raises TaskNotFound, Forbidden."""
    try:
        run = access.find(principal, UUID(task_id))
    except (ValueError, NotFound):
        raise TaskNotFound from None
    if run.purged_at is not None:
        raise TaskNotFound
    turn = of(principal, run)
    access.require_for(principal, action, turn[-1])
    return turn


def of(principal: Principal, run: Run) -> list[Run]:
    """The runs of the task that begins with ``run``, as far as the principal sees them."""
    return [run] if sight.of(principal, run) else turns.starting(run)


def questions(run: Run) -> list[Json]:
    """A run's open interrupts, in wire form."""
    rows = interrupts.ended_with(run).filter(status=InterruptStatus.OPEN)
    return [json.loads(row.question) for row in rows]


def continued(
    principal: Principal, turn: list[Run], key: str | None, digest: str
) -> list[Run] | None:
    """The task as this request has continued it before; None if it has not.

    Raises IdempotencyConflict, NotFound, Forbidden.
    """
    run = start.earlier(principal, key, digest)
    if run is None:
        return None
    place = next((place for place, each in enumerate(turn) if each.pk == run.pk), len(turn))
    return [*turn[:place], run]


def answer(
    principal: Principal,
    turn: list[Run],
    entries: list[Json],
    props: Json,
    key: str | None,
    digest: str,
) -> list[Run]:
    """Continue a task with answers to all that it asks. Raises a start's errors."""
    asking = turn[-1]
    data: Json = {"threadId": asking.thread.thread_id, "messages": [], "resume": entries}
    data["forwardedProps"] = props
    slug = asking.agent.slug
    return [*turn, chats.begin(principal, data, agent=slug, key=key, digest=digest).run]
