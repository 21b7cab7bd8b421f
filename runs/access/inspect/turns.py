"""A thread as one conversation: its runs, a page at a time, and the messages of each.

Every reader gets the runs that its right shows: a member those of a visible thread, a grant or a
link on one run that run alone.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet, Sum, Value

from agui_host.errors import Forbidden, NotFound
from agui_host.protocol import patient_json
from agui_host.protocol.errors import Invalid
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.part_kinds import answer_of
from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.redaction import Redaction
from agui_host.teams.authentication import Principal
from events import journal
from events.journal import Purged
from runs.access import access, sight
from runs.lifecycle.words import search
from runs.models import ACTIVE, Comment, Feedback, Interrupt, Run, Status, Thumb, without_bodies

PAGE = 10
"""Runs of a page: each is drawn with its beginning."""
EVENTS = 300
"""Events of a run from which its beginning is made; the rest is one click, or a script, away."""
MOST_WATCHED = 200
MOST_FOUND = 50
REGENERATES = r'"regenerate":\s*true'
"""How the input of a run says that it replaces the answer before it."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The messages of a run's first events; ``complete``: these are all of its events.

    ``answers`` are the ids of the messages that the agent wrote in this run; ``failure`` is the
    message of the error that ended it.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""
    complete: bool = True
    answers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Page:
    """Runs in their order, the number of the first in its thread, and whether there are earlier."""

    runs: list[Run]
    first: int
    has_earlier: bool


@dataclass(frozen=True, slots=True)
class Sums:
    """The figures of all runs of a thread that the reader sees."""

    runs: int
    failed: int
    active: int
    cost: float | None
    began: Any


@dataclass(frozen=True, slots=True)
class Thumbs:
    """How many people rated an answer, or a run, up and down, and how the reader did."""

    up: int = 0
    down: int = 0
    mine: str = ""


def of(principal: Principal, key: UUID) -> QuerySet[Run]:
    """The thread's runs that the principal sees, newest first."""
    access.require(principal, "view")
    return without_bodies(access.shared_runs(principal).filter(thread=key))


def newest(principal: Principal, key: UUID) -> Run:
    """The newest run of a thread that the principal sees. Raises NotFound."""
    run_id = of(principal, key).values_list("pk", flat=True).first()
    if run_id is None:
        raise NotFound("There is no such thread.")
    return access.find(principal, run_id)


def page(
    principal: Principal, key: UUID, before: UUID | None = None, up_to: UUID | None = None
) -> Page:
    """The newest runs of the thread, or the newest before another run, or up to that."""
    rows = of(principal, key)
    older = rows if before is None else rows.filter(pk__lt=before)
    older = older if up_to is None else older.filter(pk__lte=up_to)
    newer_first = list(older[: PAGE + 1])
    runs = newer_first[:PAGE][::-1]
    first = rows.filter(pk__lt=runs[0].pk).count() + 1 if runs else 1
    return Page(runs, first, len(newer_first) > PAGE)


def containing(principal: Principal, newest_run: Run, text: str) -> list[Run]:
    """The thread's newest runs that contain every word of a text, at most ``MOST_FOUND``.

    Raises Invalid for a text without words; Forbidden for a reader of a part of the thread, since
    the words are of all of it.
    """
    if not access.sees_thread(principal, newest_run):
        raise Forbidden("You see only a part of this thread, so you cannot search it.")
    if not 0 < search.count_words(text) <= search.MOST_WORDS:
        raise Invalid(f"Write one to {search.MOST_WORDS} words.", details={"path": "find"})
    rows = of(principal, newest_run.thread_id)
    return list(search.containing(rows, newest_run.team_id, text)[:MOST_FOUND])


def thumbs(principal: Principal, runs: list[Run]) -> dict[UUID, dict[str, Thumbs]]:
    """The ratings of these runs, which the caller has found, by the id of the answer.

    The id is empty for ratings of a whole run. A link shows its visitor none.
    """
    by_run: dict[UUID, dict[str, Thumbs]] = {}
    if principal.kind == "link":
        return by_run
    rows = Feedback.objects.already_found().filter(run__in=[run.pk for run in runs]).order_by()
    counted = rows.values("run_id", "message_id").annotate(
        up=Count("pk", filter=Q(thumb=Thumb.UP)),
        down=Count("pk", filter=Q(thumb=Thumb.DOWN)),
        mine=Max("thumb", filter=Q(writer=principal.actor_id), default=Value("")),
    )
    for row in counted.order_by("run_id", "message_id"):
        rated = Thumbs(row["up"], row["down"], row["mine"])
        by_run.setdefault(row["run_id"], {})[row["message_id"]] = rated
    return by_run


def since(principal: Principal, key: UUID, after: UUID) -> list[Run]:
    """The runs behind another one, in their order, at most ``PAGE``."""
    return list(of(principal, key).filter(pk__gt=after).order_by("journal_id")[:PAGE])


def some(principal: Principal, key: UUID, ids: list[UUID]) -> list[Run]:
    """Those of these runs that are in the thread and visible, in their order."""
    return list(of(principal, key).filter(pk__in=ids).order_by("journal_id"))


def number(principal: Principal, key: UUID, run: Run) -> int:
    """The place of a run among the visible ones of its thread; the first is 1."""
    return of(principal, key).filter(pk__lte=run.pk).count()


def sums(principal: Principal, key: UUID) -> Sums:
    """The figures of the thread."""
    values = of(principal, key).order_by().aggregate(
        runs=Count("pk"),
        failed=Count("pk", filter=Q(status=Status.FAILED)),
        active=Count("pk", filter=Q(status__in=ACTIVE)),
        cost=Sum("cost"),
        began=Min("created_at"),
    )  # fmt: skip
    return Sums(**values)


def beginning(
    principal: Principal, run: Run, redaction: Redaction | None = None, events: int = EVENTS
) -> Beginning:
    """The beginning of a run as the principal sees it; with ``redaction``, by a link."""
    if run.purged_at is not None or not run.journal.head:
        return Beginning()
    alone = sight.view(principal, run)
    link = None if redaction is None else LinkView(redaction, alone)
    fold, answers = Fold(), set()
    try:
        stored = journal.read_after(run.pk, 0, events)
    except Purged:
        return Beginning()
    for _, _, payload in stored.rows:
        event = patient_json.loads(payload)
        if (message := answer_of(event)) is not None:
            answers.add(message)
        if link is not None:
            for visible in link.show(event):
                fold.feed(visible)
        else:
            fold.feed(event if alone is None else alone.show(event))
    failure = (fold.terminal or {}).get("message", "") if fold.terminal else ""
    complete = not stored.rows or stored.rows[-1][0] >= run.journal.head
    return Beginning(fold.messages, str(failure), complete, frozenset(answers))


def questions(runs: list[Run]) -> QuerySet[Interrupt]:
    """The questions of these runs, which the caller has found."""
    ids = [run.pk for run in runs if run.status == Status.INTERRUPTED]
    rows = Interrupt.objects.already_found().filter(run__in=ids).order_by("pk")
    return without_bodies(
        rows.select_related("team", "thread", "run__agent", "run__thread"), "run__"
    )


def comments(principal: Principal, runs: list[Run]) -> dict[UUID, list[Comment]]:
    """The comments on these runs, which the caller has found; a link shows its visitor none."""
    if principal.kind == "link":
        return {}
    by_run: dict[UUID, list[Comment]] = {}
    rows = Comment.objects.already_found().filter(run__in=[run.pk for run in runs])
    for comment in rows.order_by("pk"):
        by_run.setdefault(comment.run_id, []).append(comment)
    return by_run


def replacing(runs: list[Run]) -> set[UUID]:
    """Those of these runs, which the caller has found, that replace the answer before them.

    A separate query: in that of the page, PostgreSQL would read the inputs of the whole thread.
    """
    again = Q(repeats__isnull=False) | Q(input__regex=REGENERATES)
    rows = Run.objects.already_found().filter(again, pk__in=[run.pk for run in runs])
    return set(rows.values_list("pk", flat=True))
