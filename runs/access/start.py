"""How a request becomes a run: the one path behind POST /agui, POST /api/v1/runs and sockets."""

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from agui_project.errors import Conflict, NotFound
from backends import metrics
from protocol import strict_json
from protocol.errors import BadRequest, Invalid
from protocol.input import run_agent_input
from protocol.input.fields import picked, wrong
from protocol.input.run_agent_input import RunRequest
from runs.access import access, cursors
from runs.lifecycle import answers, interrupts, lifecycle
from runs.lifecycle.ingest import batches
from runs.models import ENDED, Run, Status
from runtimes.kinds.process import worktree
from runtimes.models import EXTERNAL, Agent
from teams.authentication import Principal
from teams.models import Team

MAX_KEY = 255
PROCESS = "process"
DEFAULT = "default"
"""CopilotKit's name for the agent if the front end did not name one."""


class UnknownAgent(NotFound):
    """This team has no such agent."""

    code = "unknown_agent"


class NotRepeatable(Conflict):
    """Only the newest run of a thread can run again, once it has ended without open questions."""

    code = "not_repeatable"


@dataclass(frozen=True, slots=True)
class StartOutcome:
    """A run, where its reader begins, and whether this request made it.

    ``after`` is None for a reader that has to join: it came without a cursor to an existing run.
    ``declared`` is the reader's version of AG-UI; None for a reader of 0.x, which does not declare
    one.
    """

    run: Run
    after: int | None
    created: bool
    declared: str | None = None


def start_from_agui(
    principal: Principal,
    body: bytes,
    *,
    agent: str | None,
    on_busy: str | None,
    key: str | None,
    cursor: int | None,
) -> StartOutcome:
    """Start from a raw RunAgentInput. One that repeats a runId gets the run it names."""
    request = run_agent_input.parse(strict_json.loads(body), agent=agent, on_busy=on_busy)
    try:
        outcome = start_run(principal, request, key=key, cursor=cursor)
    except lifecycle.RunExists as error:
        outcome = StartOutcome(
            access.find(principal, UUID(error.details["id"])), None, created=False
        )
    return replace(outcome, declared=request.body.get("protocolVersion"))


def start_from_api(principal: Principal, data: Any, *, key: str | None) -> StartOutcome:
    """Start from the body of POST /api/v1/runs: ``{"agent", "input", "on_busy"}``."""
    if not isinstance(data, dict) or not isinstance(data.get("input"), dict):
        raise Invalid('Send {"agent": slug, "input": RunAgentInput}.', details={"path": "input"})
    for name in ("agent", "on_busy"):
        if not isinstance(data.get(name), str | None):
            raise wrong(name, "a string")
    request = run_agent_input.parse(
        data["input"], agent=data.get("agent"), on_busy=data.get("on_busy")
    )
    return start_run(principal, request, key=key)


def start_run(
    principal: Principal, request: RunRequest, *, key: str | None, cursor: int | None = None
) -> StartOutcome:
    """Check permission, agent and key, then start: everything is written, or nothing."""
    with metrics.timed_start():
        return _start_run(principal, request, key, cursor)


def _start_run(
    principal: Principal, request: RunRequest, key: str | None, cursor: int | None
) -> StartOutcome:
    _require_start(principal, request)
    access.require_thread(principal, request.thread_id)
    if cursor is not None and (run := _named(principal, request)):
        return StartOutcome(run, cursors.place(run, cursor), created=False)
    if cursor:
        raise BadRequest("A cursor requires the threadId and runId of an existing run.")
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isprintable()):
        raise Invalid(f"An Idempotency-Key must have 1 to {MAX_KEY} printable characters.")
    agent = find_agent(principal, request.agent or _asker(principal, request))
    if agent.kind == PROCESS:
        worktree.requested(request.body["forwardedProps"])
    started = lifecycle.start(
        principal.team,
        agent,
        request,
        started_by=principal,
        idempotency_key=key,
        displacing=partial(access.require_for, principal, "cancel"),
    )
    if started.created and agent.kind == EXTERNAL:
        batches.open_now(started.run)
        started.run.refresh_from_db()
    if not started.created:
        # Another person's key, or a thread that was made private meanwhile.
        access.find(principal, started.run.pk)
    return StartOutcome(started.run, 0 if started.created else None, started.created)


def answer(principal: Principal, interrupt_id: UUID, answer_fields: dict[str, Any]) -> Run | None:
    """Answer one question, ``{"status", "payload"?}``; the run that brings the last answer.

    Raises NotFound, Forbidden, and what ``answers.answer`` raises.
    """
    interrupt = access.find_interrupt(principal, interrupt_id, "answer")
    name = json.loads(interrupt.question)["id"]
    return answers.answer(
        interrupt,
        _agent_of(interrupt.team, interrupt.run.agent.slug, principal.agents),
        {"interruptId": name, **picked(answer_fields, ("status", "payload", "metadata"))},
        by=principal,
    )


def may_run_again(principal: Principal, run: Run) -> bool:
    """Whether ``run_again`` would start a run now."""
    return (
        run.team_id == principal.team.pk
        and run.agent.enabled
        and principal.may_use(run.agent.slug)
        and _is_repeatable(run)
        and access.sees_thread(principal, run)
        and access.may(principal, "run", run)
    )


def run_again(principal: Principal, run_id: UUID) -> Run:
    """Start a run with the same input, as a regenerate: it replaces the answer in the thread.

    The log of the earlier run stays. Raises NotFound, Forbidden, NotRepeatable, and what a start
    raises.
    """
    run = access.find(principal, run_id, "run")
    if run.team_id != principal.team.pk or not access.sees_thread(principal, run):
        raise NotFound("A run of another team cannot run again here.")
    if not _is_repeatable(run):
        raise NotRepeatable
    body = json.loads(run.input)
    props = body.get("forwardedProps")
    own = props if isinstance(props, dict) else {}
    again = {name: body[name] for name in ("tools", "context", "state") if name in body} | {
        "threadId": run.thread.thread_id,
        "forwardedProps": {**own, "regenerate": True},
    }
    request = run_agent_input.parse(again, agent=run.agent.slug)
    return start_run(principal, request, key=None).run


def _is_repeatable(run: Run) -> bool:
    """Its answers may have been acted upon, and a later run builds on it: neither is repeated."""
    if run.status not in ENDED or run.status == Status.INTERRUPTED or run.purged_at is not None:
        return False
    # Most inputs need not be parsed to know; they may be megabytes.
    brings_answers = '"resume"' in run.input and "resume" in json.loads(run.input)
    if run.parent_id is not None or brings_answers or run.agent.kind == EXTERNAL:
        return False
    return not Run.objects.of_one_thread().filter(thread=run.thread_id, pk__gt=run.pk).exists()


def _require_start(principal: Principal, request: RunRequest) -> None:
    """Permission to run or, for an agent whose runs are fed, to ingest. Raises Forbidden."""
    feeds = not principal.can("run") and principal.can("ingest")
    if not feeds or find_agent(principal, request.agent).kind != EXTERNAL:
        access.require(principal, "run")


def _asker(principal: Principal, request: RunRequest) -> str | None:
    # An answer that names no agent goes to the one that asked.
    if "resume" not in request.body:
        return None
    return interrupts.asker(principal.team, request.thread_id)


def find_agent(principal: Principal, slug: str | None) -> Agent:
    """The team's agent of that slug, or its default. Raises UnknownAgent."""
    return _agent_of(principal.team, slug, principal.agents)


def _agent_of(team: Team, slug: str | None, only: frozenset[str] | None) -> Agent:
    agents = Agent.objects.for_team(team).filter(enabled=True)
    if only is not None:
        agents = agents.filter(slug__in=only)
    agent = agents.filter(slug=slug).first() if slug else None
    if agent is None and slug in (None, "", DEFAULT):
        agent = agents.filter(is_default=True).first()
    if agent is None:
        raise UnknownAgent(details={"agent": slug} if slug else {})
    return agent


def _named(principal: Principal, request: RunRequest) -> Run | None:
    return (
        access.visible(principal)
        .filter(thread__thread_id=request.thread_id, run_id=request.run_id)
        .order_by("-attempt")
        .first()
    )
