"""The frame of a thread's turns: its heading, figures and forms, for members, grants and links."""

from typing import Any
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agui_host.dashboard import listing
from agui_host.dashboard.thread import presence
from agui_host.dashboard.thread import turns as drawn
from agui_host.protocol.errors import Invalid
from agui_host.protocol.views.redaction import Redaction
from agui_host.teams.authentication import Principal
from runs.access import access, again
from runs.access.inspect import turns
from runs.api.filters import LONGEST_TEXT
from runs.models import Grant, Level, Run, Visibility


def show(
    request: HttpRequest,
    principal: Principal,
    key: UUID,
    refusal: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """``refusal`` comes with a message or comment that was not stored. Raises NotFound."""
    newest = turns.newest(principal, key)
    before = listing.key_of("before", request.GET.get("before"))
    up_to = listing.key_of("up_to", request.GET.get("up_to"))
    context = {
        **_around(principal, key, newest, before, None, up_to),
        **_found(request, principal, newest),
        "present": presence.others(principal, key),
        "principal": principal,
        "refusal": refusal,
        "say_id": uuid4(),
        "may_run": may_run(principal, newest),
        "may_continue": again.may_continue(principal, newest),
        "may_share": access.may(principal, "share", newest) and whole(principal, newest),
        "may_change_thread": may_run(principal, newest),
        "may_hide": access.is_creator(principal, newest.thread),
        "levels": Level.choices,
        "run": newest,
        "visibilities": Visibility.choices,
    }
    return render(request, "threads/thread.html", context, status=status)


def linked(request: HttpRequest, visitor: Principal, grant: Grant) -> dict[str, Any]:
    """The context of the page for a visitor with a link; empty as long as there is no run."""
    key = grant.thread_id
    if key is None or not turns.of(visitor, key).exists():
        return {}
    newest = turns.newest(visitor, key)
    before = listing.key_of("before", request.GET.get("before"))
    return _around(visitor, key, newest, before, Redaction(grant.redact))


def whole(principal: Principal, run: Run) -> bool:
    """Whether the visitor sees the whole thread, not a run of it alone."""
    return access.sees_thread(principal, run)


def may_run(principal: Principal, newest: Run) -> bool:
    """Whether the visitor can start runs in this thread, now or after the newest has ended."""
    return (
        newest.team_id == principal.team.pk
        and whole(principal, newest)
        and access.may(principal, "run", newest)
    )


def _found(request: HttpRequest, principal: Principal, newest: Run) -> dict[str, Any]:
    """The runs that contain the words for which the visitor searches the thread."""
    text = request.GET.get("find", "").strip().replace("\x00", "")[:LONGEST_TEXT]
    if not text:
        return {"find": ""}
    try:
        return {"find": text, "found": turns.containing(principal, newest, text)}
    except Invalid as error:
        return {"find": text, "problem": error.message}


def _around(
    principal: Principal,
    key: UUID,
    newest: Run,
    before: UUID | None,
    redaction: Redaction | None,
    up_to: UUID | None = None,
) -> dict[str, Any]:
    page = turns.page(principal, key, before, up_to)
    sees_thread = whole(principal, newest)
    conversation = drawn.made(principal, page.runs, page.first, redaction)
    title = newest.thread.title if sees_thread else ""
    return {
        "thread": newest.thread,
        "key": key,
        "newest": newest,
        "sees_thread": sees_thread,
        "title": title or _first_words(principal, key, conversation, redaction),
        "turns": conversation,
        "sums": turns.sums(principal, key),
        "earlier": page.runs[0].pk if page.has_earlier else None,
        "is_newest": before is None and up_to is None,
        "is_private": newest.thread.visibility == Visibility.PRIVATE,
    }


def _first_words(
    principal: Principal, key: UUID, conversation: list[drawn.Turn], redaction: Redaction | None
) -> str:
    """The first words of the thread, as far as the visitor sees them."""
    if conversation and conversation[0].number == 1:
        first: drawn.Turn | None = conversation[0]
    else:
        oldest = turns.of(principal, key).order_by("journal_id")[:1]
        first = next(iter(drawn.made(principal, list(oldest), 1, redaction)), None)
    return "" if first is None else first.first_words
