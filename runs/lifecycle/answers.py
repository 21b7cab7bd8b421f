"""One answer to one question: check it, take it conditionally, start the run that brings it.

The run starts with the last answer that the newest questions of the thread wait for.
"""

import json
from uuid import UUID

from agui_host.backends.postgres import clock, turns
from agui_host.protocol.input.run_agent_input import OnBusy, following
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import Acting, actor
from agui_host.teams.limits import limits_of
from runs.lifecycle import admission, interrupts, lifecycle, resume, thread_lock
from runs.lifecycle.resume import Answer, Checked, ResumePlan
from runs.models import Interrupt, Run


def answer(interrupt: Interrupt, agent: Agent, entry: Answer, *, by: Acting) -> Run | None:
    """Store one answer; the run that brings all of them, once the last one is there.

    It waits for its turn in a busy thread, since a stored answer cannot be refused. Raises
    InterruptAnswered, InterruptExpired, AnswerInvalid, LimitReached.
    """
    # Before any lock: to check a schema can take its time.
    checked = {interrupt.pk: resume.problems(interrupt, entry)}
    entry = resume.fitted(interrupt, entry) if "payload" in entry else entry

    def attempt() -> Run | None:
        with admission.starting(interrupt.team_id):
            thread_lock.take(interrupt.thread)
            if earlier := _take(interrupt.pk, entry, by, checked):
                return earlier
            answers = _complete(interrupt)
            return _start(interrupt, agent, answers, by) if answers else None

    return turns.wait(attempt)


def _take(key: UUID, entry: Answer, by: Acting, checked: Checked) -> Run | None:
    """Store the answer under the thread's lock; the run that brought the same one before."""
    row = Interrupt.objects.already_found().select_related("answering_run").get(pk=key)
    if not resume.is_new(row, entry, clock.now(), checked):
        return row.answering_run
    if row.answer is None:
        resume.store(row, entry, by)
    return None


def _complete(interrupt: Interrupt) -> ResumePlan | None:
    """The answers to this and all other questions of its run; None while one is missing.

    Also None for a question of an earlier run: its answer is no longer awaited.
    """
    rows, now = list(interrupts.newest(interrupt.thread_id)), clock.now()
    if any(row.missing(now) for row in rows) or interrupt not in rows:
        return None
    covered = [row for row in rows if row.answering_run is None]
    covered.sort(key=lambda row: row.answer is None)  # unanswered questions come last
    return ResumePlan(resume=[resume.answer_of(row) for row in covered], covered=covered)


def _start(interrupt: Interrupt, agent: Agent, answers: ResumePlan, by: Acting) -> Run:
    limits = limits_of(interrupt.team)
    admission.check(interrupt.team_id, limits)
    # The work goes on as it was asked.
    body = json.loads(interrupt.run.input or "{}")
    request = following(body, interrupt.thread.thread_id, OnBusy.ENQUEUE)
    return lifecycle.insert(
        interrupt.team, interrupt.thread, agent, request, actor(by), answers, limits=limits
    )
