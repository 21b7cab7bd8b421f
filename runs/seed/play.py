"""A run to look at: when it began, its events, and how it ended; and how it is stored."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
from events import journal
from runs.lifecycle import admission, jobs, lifecycle
from runs.models import Run

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Play:
    """``pause``: seconds between two events. ``ago``: how long before now the run began.

    It ``joins`` the newest thread of that name, or begins one. It ends with ``questions``, with an
    ``error`` (code, message), as ``cancelled``, or else well.
    """

    agent: str
    thread: str
    message: str
    events: Sequence[Event] = ()
    ago: timedelta = timedelta()
    pause: float = 0.2
    questions: Sequence[Event] = ()
    error: tuple[RunErrorCode, str] | None = None
    cancelled: bool = False
    state: Event = field(default_factory=dict)
    joins: bool = False


@dataclass(slots=True)
class Clock:
    """The time at which a run makes its events: a tick each."""

    began: float
    pause: float
    ticks: int = 0

    def read(self) -> float:
        """Epoch seconds."""
        return self.began + self.ticks * self.pause


def perform(team: Team, play: Play, now: datetime) -> Run:
    """Store the run with its whole log. Raises a start's errors, such as LimitReached."""
    agent = _agent(team, play.agent)
    thread = _thread(team, play)
    body = {
        "threadId": thread,
        "messages": [{"role": "user", "content": play.message}],
        "state": play.state,
    }
    request = run_agent_input.parse(body, agent=agent.slug)
    with transaction.atomic():
        # Claimed in the transaction that makes it, so that no worker gets to see it.
        run = lifecycle.start(team, agent, request, started_by="host").run
        claimed = lifecycle.claim(run.pk)
        assert claimed is not None  # noqa: S101
        began = now - play.ago
        clock = Clock(began.timestamp(), play.pause)
        intake = Intake(thread, run.run_id, input=claimed.prepared.echo, clock=clock.read)
        records = list(_records(intake, play, clock))
        journal.append_all(claimed.claim, records)
        assert intake.terminal is not None  # noqa: S101
        lifecycle.finish(run.pk, intake.terminal, intake.tally)
        jobs.store_outline(run.pk, len(records))
        ended = datetime.fromtimestamp(clock.read(), UTC)
        Run.objects.already_found().filter(pk=run.pk).update(
            created_at=began, started_at=began, ended_at=ended
        )
    admission.ended([run.pk])
    return run


def _agent(team: Team, slug: str) -> Agent:
    """The team's agent of that slug; disabled if it is made here, since it cannot run."""
    agent, _ = Agent.objects.get_or_create(
        team=team, slug=slug, defaults={"name": slug, "target": slug, "enabled": False}
    )
    return agent


def _records(intake: Intake, play: Play, clock: Clock) -> Iterable[Record]:
    yield from intake.start()
    for event in play.events:
        clock.ticks += 1
        yield from intake.accept(dict(event))
    clock.ticks += 1
    if play.error:
        yield from intake.fail(*play.error)
    elif play.cancelled:
        yield from intake.cancel()
    elif play.questions:
        yield from intake.finish({"type": "interrupt", "interrupts": list(play.questions)})
    else:
        yield from intake.finish()


def _thread(team: Team, play: Play) -> str:
    """The name of the thread; most are new, since a thread with open questions takes no run."""
    names = Run.objects.for_team(team).filter(thread__thread_id__startswith=f"{play.thread}-")
    newest = names.values_list("thread__thread_id", flat=True).first() if play.joins else None
    return newest or f"{play.thread}-{secrets.token_hex(3)}"
