"""The only writer of a run's status: start, claim, finish, cancel, and the end of a lost run.

Order of locks, everywhere: thread → journal → run → interrupts → job → the team's usage. The writer
locks a journal (fence) before it touches the run (``finish``), so every function here does the
same. Nothing waits for a team's usage while it has any of these locks (``admission.py``).

``finish`` runs in the group commit of all runs of a worker. Functions here lock the rows that it
needs (journal, run, interrupts) for a few statements only; if one of those transactions is frozen,
the writer's ``lock_timeout`` delays that run only (``events.writer.commits``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from agui_project.errors import Conflict
from backends.postgres import turns
from events import announce, journal
from events.journal import Batch, Claim
from protocol.encoding import Record
from protocol.errors import RunErrorCode
from protocol.fold.fold import Fold
from protocol.input.run_agent_input import OnBusy, RunRequest
from protocol.intake.intake import Intake
from protocol.strict_json import dumps
from runs.lifecycle import admission, history, interrupts, jobs, resume, thread_lock
from runs.lifecycle.history import Prepared
from runs.lifecycle.ingest import intakes
from runs.lifecycle.statuses import error_of, move, status_of
from runs.models import ACTIVE, Run, Status, Thread, Visibility
from runtimes.models import Agent
from teams import audit
from teams.actors import Acting, Actor, actor
from teams.limits import Limits, limits_of
from teams.models import Team


class IllegalTransition(Conflict):
    """The run is no longer in a state that allows this."""

    code = "illegal_transition"


class RunExists(Conflict):
    """This thread already has a run with that runId."""

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


@dataclass(frozen=True, slots=True)
class Claimed:
    """What an executor needs to work on a run: its right to append, the run, its input.

    If there are ``questions`` (interrupts in wire form), it must not act, but end with them again.
    """

    claim: Claim
    run: Run
    prepared: Prepared
    limits: Limits
    questions: list[dict[str, Any]] = field(default_factory=list)


def start(
    team: Team,
    agent: Agent,
    request: RunRequest,
    *,
    started_by: Acting | str,
    idempotency_key: str | None = None,
    displacing: Callable[[Run], None] | None = None,
) -> Started:
    """Make thread, journal, run and, if it is admitted, its job in one transaction.

    ``displacing`` is called for each run that the request, rather than the agent's setting, wants
    to cancel to make way, and raises if that is not allowed. Raises RunExists, ThreadBusy,
    IdempotencyConflict, LimitReached, and what ``resume.plan`` raises. The same Idempotency-Key
    with the same request, or the same answers to the same questions, return the run that the first
    request made. If both arrive at once, the second waits on the thread's lock or on the unique
    index, and then finds the first one's row.
    """
    checked = _checked(team, request)

    def attempt() -> Started:
        with admission.starting(team.pk):
            return make(
                team, agent, request, actor(started_by), idempotency_key, checked, displacing
            )

    try:
        return turns.wait(attempt)
    except IntegrityError:
        if earlier := _earlier(team, idempotency_key, request):
            return Started(earlier, created=False)
        raise


def spawn(parent: Run, agent: Agent, request: RunRequest) -> Claimed:
    """Start a child of a running run, claimed at once: it lives in the job of its parent.

    It never waits, and takes no place among the team's concurrent runs: a parent that waits for its
    children could otherwise wait for ever. Other limits count. Raises as ``start``.
    """
    checked = _checked(parent.team, request)
    with transaction.atomic():
        starter = Actor(parent.started_by, parent.starter)
        run = make(parent.team, agent, request, starter, None, checked, parent=parent).run
        claimed = claim(run.pk)
        if claimed is None:
            raise IllegalTransition
        return claimed


def _checked(team: Team, request: RunRequest) -> resume.Checked:
    return resume.check(team, request.thread_id, request.body.get("resume", []))


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
) -> Started:
    """Make a run in the caller's transaction, under the thread's lock; see ``start``."""
    seen_by = parent.thread if parent else None
    thread, is_new = thread_lock.made(
        team,
        request.thread_id,
        created_by=seen_by.created_by if seen_by else starter.label,
        creator=seen_by.creator if seen_by else starter.actor_id,
        visibility=seen_by.visibility if seen_by else Visibility.TEAM,
    )
    if earlier := _earlier(team, key, request):
        transaction.set_rollback(True)  # A thread made for this request would stay empty.
        return Started(earlier, created=False)
    answers = resume.plan(thread, request.body.get("resume", []), checked)
    if answers.answered_by:
        return Started(answers.answered_by, created=False)
    if repeats is not None:
        attempt = repeats.attempt + 1
    else:
        attempt = 1 if is_new else _attempt(thread, request.run_id, answers)
    # A parent may be old, and so may the team that was read with it.
    limits = limits_of(team.pk if parent else team)
    admission.check(team.pk, limits)
    policy = request.on_busy or OnBusy(agent.on_busy)
    may_displace = displacing if request.on_busy else None
    if not is_new:
        _make_way(thread, policy, starter, may_displace)
    run = insert(
        team, thread, agent, request, starter, answers,
        limits=limits, attempt=attempt, key=key, parent=parent, repeats=repeats,
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
) -> Run:
    """Write the run, its journal, the answers it brings and its place in the queue.

    Call it in a transaction that has the thread's lock, after all that could refuse the run.
    """
    run = Run(
        journal=journal.create(),
        team=team,
        thread=thread,
        agent=agent,
        run_id=request.run_id,
        attempt=attempt,
        parent=parent,
        repeats=repeats,
        tries=repeats.tries + 1 if repeats else 1,
        parent_run_id=request.body.get("parentRunId"),
        protocol_version=request.body.get("protocolVersion"),
        input=dumps(answers.applied(request.body)),
        idempotency_key=key,
        request_digest=request.digest,
        started_by=starter.label,
        starter=starter.actor_id,
        job_id=parent.job_id if parent else None,
    )
    run.save(force_insert=True)
    again = {"repeats": str(repeats.pk)} if repeats else {}
    audit.record(starter, team, "run.started", str(run.pk), agent=agent.slug, **again)
    answers.record(run)
    if parent is None:
        admission.admit_or_queue(run, limits)
    return run


def claim(run_id: UUID, at: datetime | None = None) -> Claimed | None:
    """Claim a queued run for execution; None if the run is no longer queued.

    Its input joins the thread only now, because the thread may have grown while the run was queued.
    A caller that tries again after an error passes the same ``at`` each time: the claim may have
    been committed although the answer was lost, and ``at`` identifies it.
    """
    along = ("agent", "thread__history", "team__limits")
    run: Run = Run.objects.already_found().select_related(*along).get(pk=run_id)
    past = history.current(run.thread_id, run.thread)
    now = at or timezone.now()
    with transaction.atomic():
        claimed = journal.take_over(run_id)
        if claimed and move(run_id, Status.RUNNING, started_at=now):
            return _claimed(run, claimed, now, past)
        transaction.set_rollback(True)  # The generation is not ours to keep.
    # Checked only now: an earlier attempt of ours may have been committed during the takeover.
    ours = Run.objects.already_found().filter(pk=run_id, status=Status.RUNNING)
    if at is None or not ours.filter(started_at=at).exists():
        return None
    with transaction.atomic():
        return _claimed(run, journal.current_claim(run_id), now, past)


def _claimed(run: Run, right: Claim, now: datetime, past: Fold) -> Claimed:
    run.status, run.started_at = Status.RUNNING, now
    admission.started(run)
    prepared, questions = history.prepare(run, past), interrupts.to_repeat(run)
    return Claimed(right, run, prepared, limits_of(run.team), questions)


def finish(run_id: UUID, terminal: dict[str, Any]) -> UUID:
    """Store how a run ended; runs in the transaction that stores its terminal event.

    Returns the run's id, which ``admission.ended`` takes after that commit.
    """
    status = status_of(terminal)
    error = error_of(terminal) if status is Status.FAILED else {}
    columns = {name: dumps(terminal[name]) for name in ("result", "usage") if name in terminal}
    if not move(run_id, status, ended_at=timezone.now(), **error, **columns):
        raise IllegalTransition
    interrupts.settle(run_id, status, terminal)
    admission.record_end(run_id)
    return run_id


def cancel(run: Run, by: Acting | str = "host") -> None:
    """Cancel a run: end a queued one, signal a running one, do nothing if it has ended.

    A run that is fed from elsewhere ends at once. ``by``: the principal or process that cancels.
    A worker may claim the run between our look and our takeover. Then the conditional update finds
    no queued row, the takeover is rolled back with the savepoint, and the run is asked to stop like
    any running one.
    """
    with transaction.atomic():
        if _cancel(run, by):
            admission.made_room(run.team_id)


def _cancel(run: Run, by: Acting | str) -> bool:
    """Whether the run ended here: then the caller admits the next one, last of all.

    The run may have been admitted since it was read; now that we have its locks, that cannot
    happen.
    """
    if ended := _end_unclaimed(run):
        run.refresh_from_db(fields=["job_id"])
        jobs.cancel(run)
        audit.record(by, run.team, "run.cancelled", str(run.pk))
        return ended
    running = Run.objects.already_found().filter(
        pk=run.pk, status=Status.RUNNING, cancel_requested_at=None
    )
    if running.update(cancel_requested_at=timezone.now()):
        run.refresh_from_db(fields=["job_id"])
        if run.parent_id is None:  # The job is the parent's, which looks after its children.
            jobs.abort(run)
        audit.record(by, run.team, "run.cancelled", str(run.pk))
    return False


def end_lost(run: Run) -> bool:
    """End a run whose worker is gone, and its job with the thread's lock; False if it ended."""
    with transaction.atomic():
        if (claimed := journal.take_over(run.pk)) is None:
            return False
        intake = _reopened(run, claimed)
        records = intake.fail(
            RunErrorCode.WORKER_LOST, "The worker that executed this run is gone."
        )
        append(claimed, records, intake)
        jobs.fail(run)
        admission.made_room(run.team_id)
        return True


def _end_unclaimed(run: Run) -> bool:
    """End a run that no worker executes: it is queued, or fed from elsewhere."""
    with transaction.atomic():
        claimed = journal.take_over(run.pk)
        here = Q(status=Status.QUEUED) | Q(status=Status.RUNNING, ingest__isnull=False)
        current = Run.objects.already_found().filter(here, pk=run.pk)
        if claimed is None or not current.update(cancel_requested_at=timezone.now()):
            transaction.set_rollback(True)
            return False
        intake = intakes.restored(run) or _reopened(run, claimed)
        append(claimed, intake.cancel(), intake)
        return True


def _reopened(run: Run, claimed: Claim) -> Intake:
    # The intake that ends a run; one that never began still echoes what its user said.
    echo = None if claimed.head else history.echo(run)
    return Intake.reopened(run.thread.thread_id, run.run_id, head=claimed.head, input=echo)


def append(claimed: Claim, records: Sequence[Record], intake: Intake) -> None:
    """Append in the caller's transaction, and store the end if it has come; ring after it."""
    batch = Batch(claimed.journal_id, claimed.generation, claimed.head + 1, records)
    if claimed.journal_id not in journal.append([batch]):
        raise IllegalTransition
    if intake.terminal is not None:
        finish(claimed.journal_id, intake.terminal)
    transaction.on_commit(lambda: announce.now([batch]))


def _earlier(team: Team, key: str | None, request: RunRequest) -> Run | None:
    if key is None:
        return None
    run = Run.objects.for_team(team).filter(idempotency_key=key).first()
    if run and run.request_digest != request.digest:
        raise IdempotencyConflict
    return run


def _attempt(thread: Thread, run_id: str, answers: resume.ResumePlan) -> int:
    """The number of a new run under its runId. Raises RunExists.

    Some clients resume with the interrupted run's own runId (CopilotKit#6999): a new attempt.
    """
    earlier = Run.objects.filter(thread=thread, run_id=run_id).order_by("-attempt")
    twin = earlier.first()
    if twin is None:
        return 1
    if not answers.repeats(earlier.filter(status=Status.INTERRUPTED).first()):
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
            _cancel(run, by)


def address(run: Run) -> dict[str, str]:
    """The ids of a run that errors about it give to clients."""
    return {"id": str(run.pk), "run_id": run.run_id, "events_url": f"/api/v1/runs/{run.pk}/events"}
