"""The page of one run; its events come through the public stream."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard import listing
from dashboard.inbox import cards
from dashboard.inbox.cards import Card
from dashboard.outline_panel import panel
from runs.access import access, start
from runs.access.inspect import failures
from runs.models import Level, Run, Status
from teams.authentication import Principal


def show(
    request: HttpRequest,
    principal: Principal,
    run: Run,
    questions: list[Card] | None = None,
    status: int = 200,
) -> HttpResponse:
    """``questions`` come with a form that was sent back; by default they are read."""
    if questions is None:
        questions = cards.of_run(principal, run) if may_ask(run) else []
    context = {
        "principal": principal,
        "run": run,
        "active": listing.is_active(run),
        "may_cancel": access.may(principal, "cancel", run),
        "may_run_again": start.may_run_again(principal, run),
        "may_share": access.may(principal, "share", run),
        "levels": Level.choices,
        "outline": panel(run, request.GET, reverse("api-run-outline", args=[run.pk])),
        "events_json": reverse("api-run-events", args=[run.pk]),
        "failure": failures.for_page(principal, run),
        "questions": questions,
        "stamp": cards.stamp(questions),
    }
    return render(request, "runs/run.html", context, status=status)


def may_ask(run: Run) -> bool:
    """Whether the run has ended with questions, or did before another run asked them again."""
    return run.status == Status.INTERRUPTED


def address(run: Run) -> str:
    return reverse("run", args=[run.pk])
