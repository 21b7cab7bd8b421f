"""The page of one run; its events come through the public stream."""

from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from agui_host.dashboard import failure_panel, listing
from agui_host.dashboard.inbox import cards
from agui_host.dashboard.inbox.cards import Card
from agui_host.dashboard.inbox.indented import indented
from agui_host.dashboard.outline_panel import panel
from agui_host.dashboard.run import facts
from agui_host.runtimes import registry
from agui_host.teams.authentication import Principal
from runs.access import access, again, comments
from runs.access.evaluation import labels
from runs.access.inspect import archives, effects, findings, visits
from runs.lifecycle import repetition
from runs.models import ENDED, Level, Run, Status, Visibility

FINDINGS = 20
"""Findings on the page; the API has more."""


def show(
    request: HttpRequest,
    principal: Principal,
    run: Run,
    questions: list[Card] | None = None,
    status: int = 200,
    refusal: dict[str, str] | None = None,
) -> HttpResponse:
    """``questions`` and ``refusal`` come with a form that was sent back."""
    if questions is None:
        questions = cards.of_run(principal, run) if may_ask(run) else []
    context = {
        "principal": principal,
        "run": run,
        "facts": facts.of(principal, run),
        "is_private": run.thread.visibility == Visibility.PRIVATE,
        "active": listing.is_active(run),
        "may_cancel": access.may(principal, "cancel", run),
        "may_run_again": again.may_run_again(principal, run),
        "may_continue": again.may_continue(principal, run),
        "may_say": comments.may_say(principal, run),
        "say_id": uuid4(),
        "heard": comments.heard(run) if listing.is_active(run) else None,
        "may_change": again.may_change(principal, run),
        "refusal": refusal,
        "visits": visits.of(principal, run),
        "may_share": access.may(principal, "share", run),
        "levels": Level.choices,
        "imported": archives.imported(run) if run.status in ENDED else None,
        "may_archive": run.status in ENDED and access.sees_thread(principal, run),
        "outline": panel(principal, run, request.GET, reverse("api-run-outline", args=[run.pk])),
        "events_json": reverse("api-run-events", args=[run.pk]),
        "findings": findings.of(run, FINDINGS) if run.journal.head else [],
        "durable": effects.for_page(principal, run),
        "repeated_by": repetition.repeated_by(run),
        "failure": failure_panel.panel(principal, run),
        "questions": questions,
        "state_schema": _schema(run),
        "stamp": cards.stamp(questions),
        "labels": labels.by_run([run])[run.pk],
        "may_label": access.may(principal, "comment", run),
    }
    return render(request, "runs/run.html", context, status=status)


def _schema(run: Run) -> str:
    schema = registry.state_schema_of(run.agent)
    return "" if schema is None else indented(schema)


def may_ask(run: Run) -> bool:
    """Whether the run has ended with questions, or did before another run asked them again."""
    return run.status == Status.INTERRUPTED


def address(run: Run) -> str:
    """The address of the run's page."""
    return reverse("run", args=[run.pk])
