"""Turns: a run, and the runs that continue it with answers or with results of its tools.

Dialects that know one message per answer of the assistant show a turn as one message, whose id is
that of the turn's first run.
"""

import json
from uuid import UUID

from agui_host.protocol.input import legacy_answer
from runs.lifecycle import interrupts
from runs.models import Run, whole_size

MOST_RUNS = 100
MAX_BYTES = 8 * 1024 * 1024
"""How much of a thread is read for one request."""


def continues(run: Run) -> bool:
    """Whether a run continues the one before it: it brings answers or tool results, no words."""
    body = json.loads(run.input or "{}")
    messages = body.get("messages") or [{}]
    return legacy_answer.is_answering(body) or messages[-1].get("role") == "tool"


def of(run: Run) -> list[Run]:
    """The runs of a turn, up to ``run``."""
    if not continues(run):
        return [run]
    return newest(run.thread_id, until=run.pk)[-1]


def starting(run: Run) -> list[Run]:
    """A run, and the runs that continue it, oldest first: of the ``MOST_RUNS`` that begin with it.

    Between a question and the run with its answer can be other runs that were queued. They are
    left out: they have only asked again, or never begun.
    """
    turn, last = [run], run
    rows = Run.objects.of_one_thread().filter(thread_id=run.thread_id, purged_at=None)
    rows = rows.select_related("journal", "agent", "thread").order_by("journal_id")
    rows = rows.defer("context", "result", "usage")
    for _ in range(MOST_RUNS - 1):
        # One by one: inputs can be large, and most runs are followed by one with a new request.
        following = rows.filter(journal_id__gt=last.pk).first()
        if following is None:
            break
        last = following
        if continues(following):
            turn.append(following)
        elif not interrupts.hold(turn[-1]):
            break
    return turn


def newest(thread_id: UUID, *, until: UUID | None = None) -> list[list[Run]]:
    """The newest turns of a thread, oldest first; purged runs are left out.

    At most ``MOST_RUNS`` runs of about ``MAX_BYTES``, but always the last run.
    """
    runs = Run.objects.of_one_thread().filter(thread_id=thread_id, purged_at=None)
    if until is not None:
        runs = runs.filter(journal_id__lte=until)
    sizes = runs.order_by("-journal_id").values_list("pk", "journal__bytes", whole_size("input"))
    keys: list[UUID] = []
    size = 0
    for key, log, text in sizes[:MOST_RUNS]:
        size += log + text
        if keys and size > MAX_BYTES:
            break
        keys.append(key)
    turns: list[list[Run]] = []
    along = runs.filter(pk__in=keys).select_related("journal", "agent", "thread")
    for run in along.order_by("journal_id"):
        if turns and continues(run):
            turns[-1].append(run)
        else:
            turns.append([run])
    return turns
