"""A run as a turn of a conversation, as the thread's page and its fragments show it."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any
from uuid import UUID
from zlib import crc32

from agui_host.dashboard import listing
from agui_host.dashboard.inbox import cards
from agui_host.dashboard.inbox.cards import Card
from agui_host.protocol.strict_json import dumps, dumps_any
from agui_host.protocol.views.redaction import Redaction
from agui_host.teams.authentication import Principal
from runs.access import access, again
from runs.access.evaluation import labels
from runs.access.inspect import turns
from runs.access.inspect.turns import Beginning, Thumbs
from runs.models import Comment, Interrupt, Run

LONGEST = 4_000
"""Characters of a message in the page; a script, or the run's page, shows the rest."""
MOST_PARTS = 60
TOOL, ASSISTANT = "tool", "assistant"
LAST, REPLACED = "last", "replaced"
UNRATED = Thumbs()


@dataclass(frozen=True, slots=True)
class Part:
    """A message or a call of a tool, in words. ``kind`` is the message's role, or ``tool``.

    ``answer`` is the id of a message that the agent wrote in this run, which people can rate.
    """

    kind: str
    name: str
    text: str
    is_cut: bool
    answer: str = ""
    thumbs: Thumbs = UNRATED


@dataclass(frozen=True, slots=True)
class Turn:
    """A run with its beginning, and the actions that its reader can take."""

    run: Run
    number: int
    parts: list[Part]
    failure: str
    complete: bool
    questions: list[Card]
    comments: list[Comment]
    fate: str
    may_run_again: bool
    may_change: bool
    may_comment: bool
    thumbs: dict[str, Thumbs]
    labels: list[str]

    @property
    def first_words(self) -> str:
        """The first words of the turn: a person's message, else the beginning of the answer."""
        of_people = [part.text for part in self.parts if part.kind == "user"]
        first = [part.text for part in self.parts if part.kind == ASSISTANT]
        return (of_people[-1:] or first[:1] or [""])[0][:200]

    @property
    def is_replaced(self) -> bool:
        """Whether a later run gave another answer, so that this one is folded."""
        return self.fate == REPLACED

    @property
    def thumbs_of_run(self) -> Thumbs | None:
        """The ratings of the whole run; None if only its answers are rated."""
        has_answers = any(part.answer for part in self.parts) or listing.is_active(self.run)
        return self.thumbs.get("", None if has_answers else UNRATED)

    @property
    def rated(self) -> str:
        """The ratings by answer as JSON, for the script that draws the turn."""
        return dumps({key: [each.up, each.down, each.mine] for key, each in self.thumbs.items()})

    @property
    def stamp(self) -> str:
        """The version that an open page shows: changes with all but the run's own events."""
        open_forms = cards.stamp(self.questions)
        return stamp(self.run, open_forms, len(self.comments), self.fate, self.thumbs, self.labels)


def fate(follower: Run | None, replacing: Collection[UUID]) -> str:
    """What became of a turn: it is the last one, or a later run went on or replaced it."""
    if follower is None:
        return LAST
    return REPLACED if follower.pk in replacing else "followed"


def stamp(
    run: Run,
    questions: str,
    comments: int,
    fate: str,
    thumbs: dict[str, Thumbs],
    labelled: list[str],
) -> str:
    """``Turn.stamp`` from its parts."""
    rated = crc32(repr((thumbs, labelled)).encode()) if thumbs or labelled else 0
    return f"{run.pk}.{run.status}.{questions}.{comments}.{fate}.{rated}"


def made(
    principal: Principal,
    runs: list[Run],
    first: int,
    redaction: Redaction | None = None,
    only: Collection[UUID] | None = None,
) -> list[Turn]:
    """The turns of runs that follow each other in a thread; the number of the first is ``first``.

    ``redaction``: for a reader with a link. ``only``: some of these runs.
    """
    chosen = [run for run in runs if only is None or run.pk in only]
    questions: dict[UUID, list[Card]] = {}
    if redaction is None:
        rows = cards.whole(turns.questions(chosen))
        for card in cards.of_rows(principal, rows, None, ""):
            questions.setdefault(card.question.run_id, []).append(card)
    remarks, rated = turns.comments(principal, chosen), turns.thumbs(principal, chosen)
    replacing = turns.replacing(runs)
    named = labels.by_run(chosen) if redaction is None else {}
    conversation = []
    for place, (run, follower) in enumerate(_followed(runs)):
        if only is not None and run.pk not in only:
            continue
        beginning = turns.beginning(principal, run, redaction)
        thumbs = rated.get(run.pk, {})
        conversation.append(
            Turn(
                run=run,
                number=first + place,
                parts=_parts(principal, run, beginning, thumbs, is_link=redaction is not None),
                failure=beginning.failure or run.error_code,
                complete=beginning.complete,
                questions=questions.get(run.pk, []),
                comments=remarks.get(run.pk, []),
                fate=fate(follower, replacing),
                may_run_again=follower is None and again.may_run_again(principal, run),
                may_change=redaction is None and again.may_change(principal, run),
                may_comment=redaction is None and access.may(principal, "comment", run),
                thumbs=thumbs,
                labels=named.get(run.pk, []),
            )
        )
    return conversation


def stamps(principal: Principal, runs: list[Run]) -> dict[UUID, str]:
    """``Turn.stamp`` of runs that follow each other, without their messages."""
    questions: dict[UUID, list[Interrupt]] = {}
    columns = ("run_id", "status", "expires_at", "answering_run_id")
    for values in turns.questions(runs).select_related(None).values(*columns):
        questions.setdefault(values["run_id"], []).append(Interrupt(**values))
    remarks, replacing = turns.comments(principal, runs), turns.replacing(runs)
    rated, named = turns.thumbs(principal, runs), labels.by_run(runs)
    return {
        run.pk: stamp(
            run,
            cards.stamp_of_rows(questions.get(run.pk, [])),
            len(remarks.get(run.pk, [])),
            fate(follower, replacing),
            rated.get(run.pk, {}),
            named.get(run.pk, []),
        )
        for run, follower in _followed(runs)
    }


def _followed(runs: list[Run]) -> Iterator[tuple[Run, Run | None]]:
    """Each run with the one after it; the last has none."""
    return zip_longest(runs, runs[1:])


def _parts(
    principal: Principal,
    run: Run,
    beginning: Beginning,
    thumbs: dict[str, Thumbs],
    *,
    is_link: bool,
) -> list[Part]:
    parts = list(_told(beginning, thumbs))[:MOST_PARTS]
    if parts or is_link or not listing.is_active(run):
        return parts
    if not access.sees_thread(principal, run):
        return []
    words = again.last_said(run)  # a run that waits has no event yet
    return [_part("user", "", words)] if words else []


def _told(beginning: Beginning, thumbs: dict[str, Thumbs]) -> Iterable[Part]:
    for message in beginning.messages:
        role = message.get("role", "")
        if role in (TOOL, "activity", "reasoning", "system", "developer"):
            continue  # results are in the card of their call, which a script unfolds
        text = _text(message.get("content"))
        if text:
            part = _part(role, str(message.get("name") or ""), text)
            answer = str(message.get("id"))
            if answer in beginning.answers:
                part = replace(part, answer=answer, thumbs=thumbs.get(answer, UNRATED))
            yield part
        for call in message.get("toolCalls") or ():
            function = call.get("function") or {}
            yield _part(TOOL, str(function.get("name", "")), str(function.get("arguments", "")))


def _part(kind: str, name: str, text: str) -> Part:
    return Part(kind, name[:200], text[:LONGEST], len(text) > LONGEST)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        return "\n".join(
            str(part.get("text", "")) if part.get("type") == "text" else f"[{part.get('type')}]"
            for part in parts
        )
    return content if isinstance(content, str) else dumps_any(content) if content else ""
