"""Intakes of runs: of a run that was just claimed, and of a run that is fed batch by batch."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings

from agui_host.backends import epochs
from agui_host.backends.postgres import clock
from agui_host.backends.shelf import Shelf
from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Record
from agui_host.protocol.intake.fed import FedIntake
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.models import Policy
from agui_host.teams.limits import Limits, limits_of
from events import journal
from events.models import Journal
from runs.lifecycle import history
from runs.models import Ingest, Run

I = TypeVar("I", bound=Intake)  # noqa: E741

MOST_INTAKES, MOST_BYTES, OF_A_TEAM = 200, 128 * 1024 * 1024, 64 * 1024 * 1024
"""Intakes that a process keeps between batches; the bytes of their logs, in all and of a team."""


def new(
    kind: type[I],
    run: Run,
    limits: Limits,
    echo: Mapping[str, Any],
    messages: Collection[Mapping[str, Any]],
) -> I:
    """The intake of a run that begins; ``messages`` are its thread's so far."""
    return kind(
        run.thread.thread_id,
        run.run_id,
        input=echo,
        max_bytes=min(
            limits.event_bytes or settings.AGUI_MAX_EVENT_BYTES, settings.AGUI_MAX_EVENT_BYTES
        ),
        max_state=settings.AGUI_MAX_STATE_BYTES,
        max_text=settings.AGUI_MAX_TEXT_BYTES,
        repair=run.agent.policy == Policy.REPAIR,
        states=True,
        raw=run.agent.raw,
        rules=run.agent.questions,
        history=messages,
        clock=clock.seconds,
    )


def opening(intake: Intake, state: Any) -> list[Record]:
    """RUN_STARTED and the state: a client can hold an older one, but deltas need this one."""
    records = intake.start()
    if state not in (None, {}):
        intake.past.expect_state()
        records += intake.accept({"type": "STATE_SNAPSHOT", "snapshot": state})
    return records


def fed(run: Run, ingest: Ingest, log: Journal) -> FedIntake:
    """The intake of a run at the head of its ``log``, for the holder of the ingest's lock.

    Takes it out of the recent ones: a batch that is not committed, nor refused, leaves it unusable.
    """
    intake = _recent.pop((run.pk, epochs.latest))
    if intake is None or intake.head > log.head:
        intake = _from_the_start(run)
    while intake.head < log.head:
        page = journal.read_after(run.pk, intake.head, min(500, log.head - intake.head))
        intake.replay(payload for _, _, payload in page.rows)
    intake.remember(ingest.memory)
    return intake


def restored(run: Run) -> FedIntake | None:
    """The intake of a run that is fed, for the holder of its journal's lock; None for others."""
    ingest = Ingest.objects.filter(run=run).first()
    if ingest is None:
        return None
    full = Run.objects.already_found().select_related("thread", "agent").get(pk=run.pk)
    return fed(full, ingest, Journal.objects.get(pk=run.pk))


def keep(run: Run, intake: FedIntake, size: int) -> None:
    """Keep an intake whose batch was committed or refused; ``size`` is its log's in bytes."""
    _recent.put((run.pk, epochs.latest), intake, run.team_id, size)


def _from_the_start(run: Run) -> FedIntake:
    body = patient_json.loads(run.input)
    past = history.current(run.thread_id).messages
    fresh = history.merge(past, body["messages"]).fresh
    echo = {"state": body["state"], "messages": fresh, "tools": body.get("tools", [])}
    return new(FedIntake, run, limits_of(run.team_id), echo, [*past, *fresh])


Key = tuple[UUID, int]
"""A run and an epoch: in another one its events can be others."""
_recent: Shelf[Key, FedIntake] = Shelf(process=MOST_BYTES, team=OF_A_TEAM, most=MOST_INTAKES)
