"""How a request becomes a run: the one path behind POST /agui, POST /api/v1/runs and sockets."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Case, When

from agui_host.backends import metrics, tracing
from agui_host.errors import NotFound
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input import legacy_answer, run_agent_input
from agui_host.protocol.input.fields import picked, wrong
from agui_host.protocol.input.members import known_members
from agui_host.protocol.input.run_agent_input import OnBusy, RunRequest
from agui_host.runtimes import registry
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import credential_of
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Team
from runs.access import access, cursors, threads
from runs.access.files import files
from runs.access.inspect import schemas
from runs.lifecycle import answers, interrupts, lifecycle
from runs.lifecycle.ingest import batches
from runs.lifecycle.logs import joining
from runs.lifecycle.statements import agents, new_run
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import Run

MAX_KEY = 255
MEMBERS = frozenset({"agent", "input", "on_busy"})
DEFAULT = "default"
"""CopilotKit's name for the agent if the front end did not name one."""


CODE_ONLY = (
    "This host has code for the agent {slug}, but this team has no agent of it. An operator gives"
    " it one: agui-host create-agent --team {team} --slug {slug}"
)


class UnknownAgent(NotFound):
    """This team has no such agent."""

    code = "unknown_agent"


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
    new_id: UUID | None = None,
    chat: bool = False,
) -> StartOutcome:
    """Start from a raw RunAgentInput. One that repeats an earlier request gets the run it names.

    ``new_id``: the id that a new run gets, if it can be started at once. ``chat``: a new message
    counts as its sender's next turn (``Agent.on_busy_chat``). Raises RunExists for a used runId
    with another request.
    """
    request = run_agent_input.parse(strict_json.loads(body), agent=agent, on_busy=on_busy)
    begin = partial(start_run, principal, key=key, cursor=cursor, new_id=new_id)
    try:
        try:
            outcome = begin(request)
        except lifecycle.ThreadBusy:
            if not chat or request.on_busy is not None:
                raise
            running = threads.active(principal, request.thread_id)
            if not running or not joining.is_next_turn(running[-1], request):
                raise
            outcome = begin(replace(request, on_busy=policy_of_chat(principal, request, running)))
    except lifecycle.RunExists as error:
        run = access.find(principal, UUID(error.details["id"]))
        if not joining.is_repeated_by(run, request):
            raise
        outcome = StartOutcome(run, None, created=False)
    return replace(outcome, declared=request.body.get("protocolVersion"))


def policy_of_chat(
    principal: Principal, request: RunRequest, running: Iterable[Run]
) -> OnBusy | None:
    """The policy for a chat's new message: the agent's, if all that is running is its sender's."""
    if any(run.starter != credential_of(principal) for run in running):
        return None
    return OnBusy(find_agent(principal, request.agent).on_busy_chat)


def start_from_api(principal: Principal, data: Any, *, key: str | None) -> StartOutcome:
    """Start from the body of POST /api/v1/runs: ``{"agent", "input", "on_busy"}``.

    Raises UnknownMember for any other member; those of ``input`` are AG-UI's, and are not checked.
    """
    data = known_members(data, MEMBERS) if isinstance(data, dict) else {}
    if not isinstance(data.get("input"), dict):
        raise Invalid('Send {"agent": slug, "input": RunAgentInput}.', details={"path": "input"})
    for name in ("agent", "on_busy"):
        if not isinstance(data.get(name), str | None):
            raise wrong(name, "a string")
    request = run_agent_input.parse(
        data["input"], agent=data.get("agent"), on_busy=data.get("on_busy")
    )
    return start_run(principal, request, key=key)


def start_run(
    principal: Principal,
    request: RunRequest,
    *,
    key: str | None,
    cursor: int | None = None,
    new_id: UUID | None = None,
) -> StartOutcome:
    """Check permission, agent and key, then start: everything is written, or nothing."""
    with metrics.timed_start(), tracing.span("start run") as span:
        outcome = _start_run(principal, request, key, cursor, new_id)
        if span is not None:
            span.set_attribute("agui.run.id", str(outcome.run.pk))
            span.set_attribute("agui.team.id", str(outcome.run.team_id))
        return outcome


def _start_run(
    principal: Principal,
    request: RunRequest,
    key: str | None,
    cursor: int | None,
    new_id: UUID | None,
) -> StartOutcome:
    _require_start(principal, request)
    _check_key(key)
    if cursor is None:
        # A fresh thread, and nothing to be weighed.
        run = lifecycle.start_at_once(
            principal.team,
            _choice(request.agent, principal.agents),
            request,
            started_by=principal,
            idempotency_key=key,
            new_id=new_id,
        )
        if run is not None:
            return StartOutcome(run, 0, created=True)
    is_known, named_agent = _thread_and_agent(principal, request)
    access.require_thread(principal, request.thread_id, is_known=is_known)
    if cursor is not None and (run := _named(principal, request)):
        if joining.is_repeated_by(run, request):
            return StartOutcome(run, cursors.place(run, cursor), created=False)
        if cursor:
            raise lifecycle.RunExists(details=lifecycle.address(run))
    if cursor:
        raise BadRequest("A cursor requires the threadId and runId of an existing run.")
    files.check(principal, request)
    agent = named_agent or find_agent(principal, _asker(principal, request))
    kinds.of(agent.kind).check_input(request.body)
    schemas.check(agent, request.body.get("state"))
    started = lifecycle.start(
        principal.team,
        agent,
        request,
        started_by=principal,
        idempotency_key=key,
        displacing=partial(access.require_for, principal, "cancel"),
    )
    if started.created and agent.is_fed:
        batches.open_now(started.run)
        started.run.refresh_from_db()
    if not started.created:
        # It may be another person's key, or a thread that was made private meanwhile.
        return StartOutcome(access.find(principal, started.run.pk), None, created=False)
    return StartOutcome(started.run, 0, created=True)


def earlier(principal: Principal, key: str | None, digest: str) -> Run | None:
    """The run that this very request has started before, for what must not be weighed again.

    Raises Forbidden, Invalid, NotFound, IdempotencyConflict.
    """
    if key is None:
        return None
    access.require(principal, "run")
    _check_key(key)
    run = lifecycle.earlier(principal.team, key, digest)
    return None if run is None else access.find(principal, run.pk)


def _check_key(key: str | None) -> None:
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isprintable()):
        raise Invalid(f"An Idempotency-Key must have 1 to {MAX_KEY} printable characters.")


def answer(principal: Principal, interrupt_id: UUID, answer_fields: dict[str, Any]) -> Run | None:
    """Answer one question, ``{"status", "payload"?}``; the run that brings the last answer.

    Raises NotFound, Forbidden, and what ``answers.answer`` raises.
    """
    interrupt = access.find_interrupt(principal, interrupt_id, "answer")
    name = json.loads(interrupt.question)["id"]
    # Null is a payload, and its absence another answer.
    payload = {"payload": answer_fields["payload"]} if "payload" in answer_fields else {}
    return answers.answer(
        interrupt,
        _agent_of(interrupt.team, interrupt.run.agent.slug, principal.agents),
        {"interruptId": name, **picked(answer_fields, ("status", "metadata")), **payload},
        by=principal,
    )


def _require_start(principal: Principal, request: RunRequest) -> None:
    """Permission to run or, for an agent whose runs are fed, to ingest. Raises Forbidden."""
    feeds = not principal.can("run") and principal.can("ingest")
    if not feeds or not find_agent(principal, request.agent).is_fed:
        access.require(principal, "run")


def _thread_and_agent(principal: Principal, request: RunRequest) -> tuple[bool, Agent | None]:
    """Whether the thread is there, and the agent that the request names: in one message.

    Without an agent, answers go to the agent that asked, of which this message does not know.
    """
    if not request.agent and legacy_answer.is_answering(request.body):
        return new_run.knows_thread(principal.team.pk, request.thread_id), None
    choice = _choice(request.agent, principal.agents)
    values = choice.values(principal.team.pk) | {"thread": request.thread_id}
    with connection.cursor() as cursor:
        cursor.execute(f"{new_run.KNOWN}; {agents.AGENT}", values)
        is_known = bool(cursor.fetchone()[0])
        cursor.nextset()
        row = cursor.fetchone()
    return is_known, None if row is None else agents.of_row(row)


def _asker(principal: Principal, request: RunRequest) -> str | None:
    # An answer that names no agent goes to the one that asked.
    if request.agent or not legacy_answer.is_answering(request.body):
        return request.agent
    return interrupts.asker(principal.team, request.thread_id)


def find_agent(principal: Principal, slug: str | None) -> Agent:
    """The team's agent of that slug, or its default. Raises UnknownAgent."""
    return _agent_of(principal.team, slug, principal.agents)


def _agent_of(team: Team, slug: str | None, only: frozenset[str] | None) -> Agent:
    agent = agents.find(team.pk, _choice(slug, only))
    if agent is None:
        details = {"agent": slug} if slug else {}
        if slug and only is None and _is_code_only(team, slug):
            raise UnknownAgent(CODE_ONLY.format(slug=slug, team=team.slug), details=details)
        raise UnknownAgent(details=details)
    return agent


def _is_code_only(team: Team, slug: str) -> bool:
    if slug not in registry.offered():
        return False
    return not Agent.objects.for_team(team).filter(slug=slug).exists()


def _choice(slug: str | None, only: frozenset[str] | None) -> AgentChoice:
    return AgentChoice(slug or "", slug in (None, "", DEFAULT), only)


def _named(principal: Principal, request: RunRequest) -> Run | None:
    """The run that a request with a cursor reads: the attempt that it made, else the newest."""
    attempts = access.visible(principal).filter(
        thread__thread_id=request.thread_id, run_id=request.run_id
    )
    made = Case(When(request_digest=request.digest, then=1), default=0)
    return attempts.order_by(made.desc(), "-attempt").first()
