"""What CopilotKit's Intelligence client joins: a run, or a thread after a cursor."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agui_host.dialects.copilotkit import wire
from agui_host.errors import BadCursor, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access, cursors, sight
from runs.lifecycle.logs import joining
from runs.lifecycle.logs.joining import Cut
from runs.models import ACTIVE, Run, Thread


@dataclass(frozen=True, slots=True)
class Reading:
    """A channel's frames: ``cut`` of the first run, then the rest of it and the other ``runs``.

    Of a thread, ``replayed`` of the runs had ended by then; a
    run that the client has started itself is no replay: None.
    """

    cut: Cut
    runs: list[UUID]
    replayed: int | None


def thread_with_runs(principal: Principal, thread_id: str) -> Thread | None:
    """The thread of that name, if it is visible and has a run."""
    thread = access.find_thread(principal, thread_id)
    return thread if thread and _runs(principal, thread.pk).exists() else None


def active_run_id(principal: Principal, thread: UUID) -> str | None:
    """The client's name of the run that a thread is working on."""
    active = _active(principal, thread)
    return active.run_id if active else None


def reading(principal: Principal, thread: UUID, params: dict[str, Any]) -> Reading:
    """The reading that a join's parameters ask for. Raises NotFound, Invalid, BadCursor, Purged."""
    newest = _runs(principal, thread).defer("input", "context", "result").first()
    if newest is None or sight.of(principal, newest):
        raise NotFound("There is no such thread.")
    match params.get("stream_mode"), params.get("run_id"), params.get("last_seen_event_id"):
        case "run", str(run_id), _:
            run = _runs(principal, thread).filter(run_id=run_id).order_by("-attempt").first()
            if run is None:
                raise NotFound("There is no such run.")
            return Reading(Cut(cursors.place(run, 0), b""), [run.pk], None)
        case "connect", _, None:
            cut, runs = joining.thread(thread) or (Cut(0, b""), [])
            return Reading(cut, runs, _ended(principal, thread, runs))
        case "connect", _, str(cursor):
            after, runs = _behind(principal, thread, cursor)
            return Reading(Cut(after, b""), runs, _ended(principal, thread, runs))
    raise Invalid(
        'Join with {"stream_mode": "run", "run_id"}, or with '
        '{"stream_mode": "connect", "last_seen_event_id": a cursor or null}.'
    )


def _behind(principal: Principal, thread: UUID, cursor: str) -> tuple[int, list[UUID]]:
    try:
        key, seq = wire.place_of(cursor)
    except ValueError:
        raise BadCursor("last_seen_event_id must be the cpki_event_id of an event.") from None
    runs = _runs(principal, thread)
    run = runs.filter(pk=key).first()
    if run is None:
        cursors.of_no_run(seq)
        raise BadCursor("This cursor does not belong to this thread.")
    after = cursors.place(run, seq)
    later = runs.filter(pk__gte=key).order_by("journal_id")
    return after, list(later.values_list("journal_id", flat=True))


def _ended(principal: Principal, thread: UUID, runs: list[UUID]) -> int:
    active = _active(principal, thread)
    return runs.index(active.pk) if active and active.pk in runs else len(runs)


def _active(principal: Principal, thread: UUID) -> Run | None:
    runs = _runs(principal, thread).filter(status__in=ACTIVE)
    return runs.order_by("journal_id").first()


def _runs(principal: Principal, thread: UUID) -> TeamQuerySet[Run]:
    return access.visible(principal).filter(thread=thread)
