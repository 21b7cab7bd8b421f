"""How a stock client joins: one cut of the log, the history up to it as a prelude, then the tail.

A client that sends no cursor has seen nothing, or forgotten its position. Deltas from the start
would double its content; a bare tail is illegal. Snapshots at the cut are neither.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Q, Subquery

from agui_host.protocol import patient_json
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude_frames
from agui_host.protocol.input import legacy_answer
from agui_host.protocol.input.run_agent_input import RunRequest
from events import checkpoints
from events.journal import Purged
from runs.lifecycle import history
from runs.lifecycle.logs.preludes import Kept, preludes
from runs.models import ACTIVE, Run

Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cut:
    """``opening`` is the server-sent prelude, and the log continues after ``position``.

    That names its epoch where it is known.
    """

    position: int
    opening: bytes


def live(run: Run) -> Cut | None:
    """The cut of a run that has not ended, at its head; empty before its first event.

    If a snapshot would be larger than clients accept, the raw log from its start. None for a run
    that has since ended: the history can contain it by now, and it would count twice.
    """
    position = run.journal.written.at(run.journal.head)
    if not position:
        return Cut(0, b"")
    if (near := preludes.near(run.pk, position)) is not None:
        return Cut(*near) if _is_active(run) else None
    fold = _fold_at(run, position)
    if not _is_active(run):
        return None
    opening = prelude_frames(fold, position)
    if opening is None:
        return Cut(0, b"")
    return Cut(*preludes.keep(run.pk, Kept(position, opening), run.team_id))


def again(run: Run) -> Cut:
    """For a client that names an existing run: its live cut, or its end after snapshots."""
    if run.journal.closed_at is None:
        if (cut := live(run)) is not None:
            return cut
        run.journal.refresh_from_db()
    if run.purged_at is not None:
        raise Purged.below(run.journal.head + 1)
    fold = history.current(run.thread_id)
    first, last = history.first_and_last(run.pk, run.journal.head)
    fold.started = {key: value for key, value in first.items() if key != "input"}
    fold.terminal = last
    position = run.journal.written.at(run.journal.head)
    return Cut(position, prelude_frames(fold, position) or b"")


@dataclass(frozen=True, slots=True)
class ThreadState:
    """The state of a thread at one moment.

    ``runs`` are the runs whose logs continue from there: the first after ``position``, the others,
    which wait for it, from their start.
    """

    fold: Fold
    position: int
    runs: list[UUID]


def standing(thread_id: UUID) -> ThreadState | None:
    """The whole thread, with its live run; None without any run.

    Raises Purged if nothing is left of it.
    """
    rows = _relevant(thread_id)
    while rows:
        first = next((run for run in rows if run.status in ACTIVE), None)
        last = rows[-1]
        if first is None and last.purged_at is not None:
            raise Purged("All events of this thread were purged.")
        log = (first or last).journal
        position = log.written.at(log.head)
        fold = history.current(thread_id) if first is None else _fold_at(first, position)
        # A run that ended or began during the fold can be in the history by now, and would be sent
        # twice or not at all: repeat until that has not happened.
        rows = _relevant(thread_id)
        if first is None and [run.pk for run in rows] == [last.pk]:
            return ThreadState(fold, position, [last.pk])
        if first is not None and rows and rows[0].pk == first.pk and rows[0].status in ACTIVE:
            return ThreadState(fold, position, _from(first))
    return None


def _relevant(thread_id: UUID) -> list[Run]:
    # The active runs of a thread, in order, and its newest: one statement, so one moment.
    runs = Run.objects.of_one_thread().filter(thread_id=thread_id)
    newest = Subquery(runs.order_by("-journal_id").values("journal_id")[:1])
    relevant = runs.filter(Q(status__in=ACTIVE) | Q(journal_id=newest))
    return list(relevant.select_related("journal").order_by("journal_id"))


def _from(run: Run) -> list[UUID]:
    runs = Run.objects.of_one_thread().filter(thread_id=run.thread_id)
    later = runs.filter(journal_id__gte=run.pk).order_by("journal_id")
    return list(later.values_list("journal_id", flat=True))


def thread(thread_id: UUID) -> tuple[Cut, list[UUID]] | None:
    """The cut of a whole thread, and the runs to follow from there; None without any run.

    If a snapshot would be larger than clients accept, the raw logs of all its runs.
    """
    state = standing(thread_id)
    if state is None:
        return None
    opening = prelude_frames(state.fold, state.position)
    if opening is not None:
        return Cut(state.position, opening), state.runs
    runs = Run.objects.of_one_thread().filter(thread_id=thread_id).order_by("journal_id")
    return Cut(0, b""), list(runs.values_list("journal_id", flat=True))


def is_repeated_by(run: Run, request: RunRequest) -> bool:
    """Whether a request that names ``run`` only wants to read it: it asks for nothing new.

    So does one with the digest of an earlier request, or a request that brings no answer, no
    message that the run or its thread does not have, no other ``forwardedProps`` and no other
    agent. A purged run is only read: its reader learns that it is gone. ``run`` is the newest of
    its runId.
    """
    attempts = Run.objects.of_one_thread().filter(thread=run.thread_id, run_id=run.run_id)
    if run.purged_at is not None or attempts.filter(request_digest=request.digest).exists():
        return True
    stored, body = patient_json.loads(run.input), request.body
    if body.get("resume") or not _has_props(stored, body):
        return False
    if request.agent not in (None, "", "default", run.agent.slug):
        return False
    return not _brings_messages(run, stored.get("messages", []), body["messages"])


def is_next_turn(run: Run, request: RunRequest) -> bool:
    """Whether a request ends with a user's message that its thread does not have.

    A client that repeats its messages under another runId takes no turn. ``run`` is the
    newest of the thread.
    """
    last = request.body["messages"][-1:]
    if not last or last[0]["role"] != "user":
        return False
    return _brings_messages(run, patient_json.loads(run.input).get("messages", []), last)


def _has_props(stored: Wire, body: Wire) -> bool:
    """Whether a request's ``forwardedProps`` are the run's, or none."""
    own, props = stored.get("forwardedProps"), body["forwardedProps"]
    if legacy_answer.value_of(body) is None:
        own, props = legacy_answer.without(own), legacy_answer.without(props)
    return props in ({}, own)


def _brings_messages(run: Run, own: list[Wire], incoming: list[Wire]) -> bool:
    """Whether a message is new, or a user's message has another content than before."""
    brought = [message for message in incoming if message["role"] not in history.OURS]
    if all(message in own for message in brought):
        return False
    fold = history.current(run.thread_id)
    if run.status in ACTIVE:
        position = run.journal.written.at(run.journal.head)
        fold = _fold_at(run, position) if position else fold
    known = {message["id"]: message for message in [*fold.messages, *own]}
    return any(
        message["id"] not in known
        or (message["role"] == "user" and message["content"] != known[message["id"]].get("content"))
        for message in brought
    )


def _fold_at(run: Run, position: int) -> Fold:
    return checkpoints.fold_at(run.pk, position, partial(history.current, run.thread_id))


def _is_active(run: Run) -> bool:
    return Run.objects.already_found().filter(pk=run.pk, status__in=ACTIVE).exists()
