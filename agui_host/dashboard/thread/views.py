"""The page of a thread, the pieces that an open page asks for, and what its forms post."""

from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard import acting, listing
from agui_host.dashboard.pages import action, page
from agui_host.dashboard.thread import page as thread_page
from agui_host.dashboard.thread import presence
from agui_host.dashboard.thread import turns as drawn
from agui_host.errors import Forbidden, NotFound
from agui_host.kinds import starts
from agui_host.protocol.errors import HostError, Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams.authentication import Principal
from runs.access import again, comments, threads
from runs.access.inspect import turns
from runs.api.comments import LONGEST
from runs.lifecycle.steering.messages import RunEnded
from runs.models import ACTIVE, Run, Thumb, Visibility

LONGEST_TITLE = 200


@page
def thread(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """All runs of a thread as one conversation, the newest ones first."""
    return thread_page.show(request, principal, key)


@page
def earlier(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """The turns before another one, for an open page."""
    before = listing.key_of("before", request.GET.get("before"))
    turns.newest(principal, key)
    older = turns.page(principal, key, before)
    context = {
        "turns": drawn.made(principal, older.runs, older.first),
        "earlier": older.runs[0].pk if older.has_earlier else None,
        "key": key,
        "principal": principal,
    }
    return render(request, "threads/earlier.html", context)


@page
def pulse(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """The turns of an open page that are new or have changed, and who is here; 204 if none has.

    ``turn`` is the stamp of each turn that the page shows, ``newest`` its last run, ``present`` the
    names of the people that it shows.
    """
    turns.newest(principal, key)
    present = presence.others(principal, key)
    moved = ", ".join(present) != request.GET.get("present", "")
    stamps = set(request.GET.getlist("turn")[-turns.MOST_WATCHED :])
    ids = {listing.key_of("turn", value.partition(".")[0]) for value in stamps}
    watched = turns.some(principal, key, [run_id for run_id in ids if run_id])
    newest = listing.key_of("newest", request.GET.get("newest"))
    later = turns.since(principal, key, newest) if newest else []
    sequence = [*watched, *(run for run in later if run.pk not in ids)]
    if not sequence:
        return _present(request, present) if moved else HttpResponse(status=204)
    stands = drawn.stamps(principal, sequence)
    outdated = {run.pk for run in watched if stands[run.pk] not in stamps}
    fresh = {run.pk for run in later}
    if not outdated and not fresh:
        return _present(request, present) if moved else HttpResponse(status=204)
    first = turns.number(principal, key, sequence[0])
    made = drawn.made(principal, sequence, first, only=outdated | fresh)
    context = {
        "changed": [turn for turn in made if turn.run.pk not in fresh],
        "later": [turn for turn in made if turn.run.pk in fresh],
        "newest": sequence[-1],
        "may_run": thread_page.may_run(principal, sequence[-1]),
        "may_continue": again.may_continue(principal, sequence[-1]),
        "sums": turns.sums(principal, key),
        "key": key,
        "principal": principal,
        "present": present,
    }
    return render(request, "threads/pulse.html", context)


def _present(request: HttpRequest, present: list[str]) -> HttpResponse:
    return render(request, "threads/present.html", {"present": present, "oob": True})


@starts
@action("thread")
def send(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Continue the thread with a message, or send it to the run that is active.

    The page then shows the new run, or says that the agent gets the message.
    """
    text = request.POST.get("message", "")
    newest = turns.newest(principal, key)
    try:
        if newest.status in ACTIVE:
            _steer(request, principal, newest.pk, text)
        else:
            again.go_on(principal, newest.pk, text)
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        refusal = {"text": text, "problem": error.message}
        return thread_page.show(request, principal, key, refusal, error.status)
    return redirect(f"{request.path.removesuffix('send')}#end")


def _steer(request: HttpRequest, principal: Principal, run_id: UUID, text: str) -> None:
    try:
        acting.steer(principal, run_id, request.POST.get("message_id") or str(uuid4()), text)
    except RunEnded:  # between the two looks
        again.go_on(principal, run_id, text)
    else:
        messages.success(
            request, "The agent gets your message while it works, or with the next run."
        )


@starts
@action("thread")
def regenerate(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Ask for another answer to the last question; the earlier answer stays, folded."""
    again.run_again(principal, turns.newest(principal, key).pk)
    return redirect(f"{request.path.removesuffix('regenerate')}#end")


@action("thread")
def comment(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Comment on a run of the thread, or on one of its events."""
    run = _run_of(request, principal, key)
    text = request.POST.get("text", "").strip()
    seq = whole(request.POST.get("seq") or "0", 0, 2**31 - 1)
    if not text or len(text) > LONGEST or seq is None:
        raise Invalid(f"Write a comment of at most {LONGEST:,} characters.")
    comment = comments.write(principal, run.pk, text, seq or None)
    if comment.not_reached:
        names = ", ".join(comment.not_reached)
        messages.warning(
            request, f"{names} may not see this thread, so the mention reaches no one."
        )
    return redirect(f"{request.path.removesuffix('comment')}#foot-{run.pk}")


@action("thread")
def rate(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Rate an answer of the thread, or a run of it, or take the rating back.

    ``thumb`` is ``up``, ``down`` or nothing, and after a space the id of the answer.
    """
    run = _run_of(request, principal, key)
    thumb, _, message_id = request.POST.get("thumb", "").partition(" ")
    if thumb not in (*Thumb.values, ""):
        raise Invalid("A rating is up or down.")
    if thumb:
        comments.rate(principal, run.pk, Thumb(thumb), message_id=message_id)
    else:
        comments.unrate(principal, run.pk, message_id)
    return redirect(f"{request.path.removesuffix('rate')}#foot-{run.pk}")


def _run_of(request: HttpRequest, principal: Principal, key: UUID) -> Run:
    run_id = listing.key_of("run", request.POST.get("run"))
    runs = turns.some(principal, key, [run_id] if run_id else [])
    if not runs:
        raise NotFound("There is no such run in this thread.")
    return runs[0]


@action("thread")
def change(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Set the thread's title, and who sees it."""
    title = request.POST.get("title", "").strip()
    if len(title) > LONGEST_TITLE:
        raise Invalid(f"A title has at most {LONGEST_TITLE} characters.")
    changes = {"title": title}
    if (visibility := request.POST.get("visibility")) in Visibility.values:
        changes["visibility"] = str(visibility)
    threads.change(principal, key, changes)
    messages.success(request, "The thread was changed.")
    return redirect("thread", key)
