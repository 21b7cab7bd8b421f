"""The only writer of a run's status: start, claim, finish, cancel, and the end of a lost run.

A start is here, a claim in ``statements/claims.py``, each end in ``ending.py``.

Order of locks, everywhere: thread → journal → run → interrupts → job → the team's usage. The writer
locks a journal (fence) before it touches the run (``finish``), so every function here does the
same. Nothing waits for a team's usage while it has any of these locks (``admission.py``).
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction

from agui_host.backends.postgres import clock, turns
from agui_host.errors import Conflict
from agui_host.protocol.input.run_agent_input import OnBusy, RunRequest
from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.models import Agent
from agui_host.teams import audit
from agui_host.teams.actors import Acting, Actor, actor
from agui_host.teams.limits import LimitReached, Limits, limits_of
from agui_host.teams.models import Team
from events.models import Journal
from runs.lifecycle import admission, ending, resume, thread_lock
from runs.lifecycle.ending import IllegalTransition as IllegalTransition
from runs.lifecycle.ending import cancel as cancel
from runs.lifecycle.ending import end_lost as end_lost
from runs.lifecycle.ending import finish as finish
from runs.lifecycle.ending import finishing as finishing
from runs.lifecycle.files import references
from runs.lifecycle.handover import handed
from runs.lifecycle.statements import at_once, new_run
from runs.lifecycle.statements.agents import AgentChoice
from runs.lifecycle.statements.claims import Claimed as Claimed
from runs.lifecycle.statements.claims import claim as claim
from runs.models import ACTIVE, Run, Thread, Visibility


class RunExists(Conflict):
    """This thread already has a run with that runId; new messages take a new one."""

    code = "run_exists"


class ThreadBusy(Conflict):
    """The thread has a run that has not ended; wait, cancel it, or ask for another policy."""

    code = "thread_busy"


class IdempotencyConflict(Conflict):
    """This Idempotency-Key was used before with another request."""

    code = "idempotency_conflict"


@dataclass(frozen=True, slots=True)
class Started:
    """A run, and whether this very request made it."""

    run: Run
    created: bool


def start(
    team: Team,
    agent: Agent,
    request: RunRequest,
    *,
    started_by: Acting | str,
    idempotency_key: str | None = None,
    displacing: Callable[[Run], None] | None = None,
) -> Started:
    """Make thread, journal, run and, if it is admitted, its stamp in one transaction.

    ``displacing`` is called for each run that the request, rather than the agent's setting, wants
    to cancel to make way, and raises if that is not allowed. Raises RunExists, ThreadBusy,
    IdempotencyConflict, LimitReached, and what ``resume.plan`` raises. The same Idempotency-Key
    with the same request, or the same answers to the same questions, return the run that the first
    request made. If both arrive at once, the second waits on the thread's lock or on the unique
    index, and then finds the first one's row.
    """
    starter = actor(started_by)
    checked = _checked(team, request)

    def attempt() -> Started:
        with handed.credit() or nullcontext() as credit:
            with admission.starting(team.pk):
                started = make(
                    team, agent, request, starter, idempotency_key, checked, displacing,
                    link=credit and credit.link,
                )  # fmt: skip
            if credit and started.created and started.run.worker is not None:
                handed.hand(credit, handed.short_line(started.run))
            return started

    try:
        return turns.wait(attempt)
    except IntegrityError:
        if run := earlier(team, idempotency_key, request.digest):
            return Started(run, created=False)
        raise


def start_at_once(
    team: Team,
    choice: AgentChoice,
    request: RunRequest,
    *,
    started_by: Acting | str,
    idempotency_key: str | None = None,
    new_id: UUID | None = None,
) -> Run | None:
    """Start in a fresh thread, by one message; None, with nothing written, if ``start`` has to.

    That is so if the thread exists or is being made, if the request brings answers or files, is for
    an end user, or if its key may belong to an earlier run. ``new_id``: the id that the run is to
    have. Raises LimitReached.
    """
    if "resume" in request.body or references.of_input(request):
        return None
    starter, limits, key = actor(started_by), limits_of(team), idempotency_key
    if starter.end_user is not None:
        return None
    try:
        with admission.starting(team.pk, one_message=True):
            run = at_once.start(team, choice, request, starter, limits, key=key, new_id=new_id)
    except IntegrityError:
        return None
    except LimitReached:
        if key is None:
            raise
        return None
    if run is not None and run.stamp is None:
        admission.look_again(team.pk)
    return run


def spawn(parent: Run, agent: Agent, request: RunRequest) -> Claimed:
    """Start a child of a running run, claimed at once: it lives in the worker of its parent.

    It never waits, and takes no place among the team's concurrent runs: a parent that waits for its
    children could otherwise wait for ever. Other limits count. Raises as ``start``.
    """
    checked = _checked(parent.team, request)
    references.check(parent.thread, request)
    with transaction.atomic():
        starter = new_run.starter_of(parent)
        run = make(parent.team, agent, request, starter, None, checked, parent=parent).run
        claimed = claim(run.pk)
        if claimed is None:
            raise IllegalTransition
        return claimed


def _checked(team: Team, request: RunRequest) -> resume.Checked:
    return resume.check(team, request.thread_id, request.body)


def make(
    team: Team,
    agent: Agent,
    request: RunRequest,
    starter: Actor,
    key: str | None,
    checked: resume.Checked,
    displacing: Callable[[Run], None] | None = None,
    parent: Run | None = None,
    repeats: Run | None = None,
    new_id: UUID | None = None,
    link: str | None = None,
) -> Started:
    """Make a run in the caller's transaction, under the thread's lock; see ``start``.

    ``new_id``: the id that it is to have. ``link``: of the worker that can have the run at once; if
    it has, the caller hands the run over after its commit.
    """
    seen_by = parent.thread if parent else None
    thread, is_new = thread_lock.made(
        team,
        request.thread_id,
        created_by=seen_by.created_by if seen_by else starter.label,
        creator=seen_by.creator if seen_by else starter.actor_id,
        visibility=seen_by.visibility if seen_by else Visibility.TEAM,
    )
    if run := earlier(team, key, request.digest):
        transaction.set_rollback(True)  # A thread made for this request would stay empty.
        return Started(run, created=False)
    answers = resume.plan(thread, resume.brought(thread, request.body), checked)
    if answers.answered_by:
        return Started(answers.answered_by, created=False)
    if repeats is not None:
        attempt = repeats.attempt + 1
    else:
        attempt = 1 if is_new else _attempt(thread, request, answers)
    # A parent can be old, and so can the team that was read with it.
    limits = limits_of(team.pk if parent else team)
    admission.check(team.pk, limits)
    if parent is None and repeats is None:
        admission.check_person(team.pk, starter)
    policy = request.on_busy or OnBusy(agent.on_busy)
    may_displace = displacing if request.on_busy else None
    if not is_new:
        _make_way(thread, policy, starter, may_displace)
    references.record(thread, request)
    run = insert(
        team, thread, agent, request, starter, answers,
        limits=limits, attempt=attempt, key=key, parent=parent, repeats=repeats, new_id=new_id,
        link=link,
    )  # fmt: skip
    return Started(run, created=True)


def insert(
    team: Team,
    thread: Thread,
    agent: Agent,
    request: RunRequest,
    starter: Actor,
    answers: resume.ResumePlan,
    *,
    limits: Limits,
    attempt: int = 1,
    key: str | None = None,
    parent: Run | None = None,
    repeats: Run | None = None,
    new_id: UUID | None = None,
    link: str | None = None,
) -> Run:
    """Write the run, its journal, the answers it brings and its place in the queue.

    Call it in a transaction that has the thread's lock, after all that could refuse the run.
    """
    body = answers.applied(request.body)
    run = new_run.of_request(
        Journal(id=new_id or clock.new_id()),
        thread,
        request,
        starter,
        team=team,
        agent=agent,
        attempt=attempt,
        parent=parent,
        repeats=repeats,
        tries=repeats.tries + 1 if repeats else 1,
        input=dumps(body),
        idempotency_key=key,
        worker=parent.worker if parent else None,
    )
    again = {"repeats": str(repeats.pk)} if repeats else {}
    line = audit.line(starter, team, "run.started", str(run.pk), agent=agent.slug, **again)
    # Questions are locked before the team's usage.
    new_run.insert(run, body, line, None if parent or answers.covered else limits, link)
    if answers.covered:
        answers.record(run)
        admission.place(run, limits, link)
    if parent is None and run.stamp is None:
        admission.look_again(team.pk)
    return run


def earlier(team: Team, key: str | None, digest: str) -> Run | None:
    """The run that the request of this key and digest has started. Raises IdempotencyConflict."""
    if key is None:
        return None
    run: Run | None = Run.objects.for_team(team).filter(idempotency_key=key).first()
    if run and run.request_digest != digest:
        raise IdempotencyConflict
    return run


def _attempt(thread: Thread, request: RunRequest, answers: resume.ResumePlan) -> int:
    """The number of a new run under its runId. Raises RunExists.

    Some clients answer under a runId that they have used (CopilotKit#6999): a new attempt.
    """
    earlier = Run.objects.filter(thread=thread, run_id=request.run_id).order_by("-attempt")
    twin = earlier.first()
    if twin is None:
        return 1
    if not answers.covered and not resume.continues(thread, twin, request.body):
        raise RunExists(details=address(twin))
    return twin.attempt + 1


def _make_way(
    thread: Thread, policy: OnBusy, by: Actor, displacing: Callable[[Run], None] | None
) -> None:
    """Apply the policy. Runs that end here make room, which the new run's admission uses."""
    active = list(Run.objects.filter(thread=thread, status__in=ACTIVE).select_related("thread"))
    if active and policy == OnBusy.REJECT:
        raise ThreadBusy(details=address(active[0]))
    if policy == OnBusy.CANCEL_RUNNING:
        if displacing is not None:
            for run in active:
                displacing(run)
        for run in active:
            ending.ended_by_cancel(run, by)


def address(run: Run) -> dict[str, str]:
    """The ids of a run that errors about it give to clients."""
    return {"id": str(run.pk), "run_id": run.run_id, "events_url": f"/api/v1/runs/{run.pk}/events"}
