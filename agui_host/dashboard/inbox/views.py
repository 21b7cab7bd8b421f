"""The inbox page, the answers that its forms send, and the questions of an open run's page."""

import json
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html

from agui_host.backends.postgres import clock
from agui_host.dashboard import run_page
from agui_host.dashboard.inbox import cards
from agui_host.dashboard.inbox.choice import Choice
from agui_host.dashboard.inbox.decisions import form_of
from agui_host.dashboard.inbox.form import AnswerForm
from agui_host.dashboard.listing import key_of
from agui_host.dashboard.pages import action, page
from agui_host.dashboard.templatetags.clock import age
from agui_host.dashboard.templatetags.dashboard import person
from agui_host.errors import Forbidden, NotFound
from agui_host.kinds import starts
from agui_host.protocol.errors import HostError
from agui_host.protocol.questions import table
from agui_host.teams.authentication import Principal
from runs.access import access, inbox, sharing, start
from runs.access.notices import mail, mentions, push, warnings
from runs.lifecycle.resume import AnswerInvalid, InterruptAnswered, InterruptExpired
from runs.models import Interrupt, Run

MOST_SOON = 20
"""Questions above the newest ones, as they expire first."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A form that comes back: why, and with which status."""

    form: AnswerForm
    status: int
    problem: str = ""


@page
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The open questions that the visitor sees: the first to expire, then the newest."""
    return _inbox(request, principal)


@page
def pulse(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Whether the inbox has other questions than the open page shows; 204 if not."""
    rows = Choice.of(request.GET).rows(principal).order_by("-pk")
    keys = list(rows.values_list("pk", flat=True)[: cards.MOST])
    if request.GET.get("shows", "") == _stamp(keys):
        return HttpResponse(status=204)
    return render(request, "inbox/pulse.html", {"choice": Choice.of(request.GET)})


@page
def mentions_of_me(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The newest comments that mention the visitor."""
    rows = mentions.of(principal)[: cards.MOST]
    return render(request, "inbox/mentions.html", {"comments": rows})


@page
def count(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The number of open questions, for the link to the inbox on every open page."""
    return render(request, "inbox/badge.html", {"number": inbox.count(principal)})


@page
def of_run(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """The questions of a run, for its open page; 204 if nothing has changed."""
    run = access.find(principal, run_id)
    if request.GET.get("shows") == cards.stamp_of(run):
        return HttpResponse(status=204)
    questions = cards.of_run(principal, run)
    stamp = cards.stamp(questions)
    context = {"run": run, "questions": questions, "stamp": stamp}
    return render(request, "runs/questions.html", context)


@starts
@action("inbox")
def answer(request: HttpRequest, principal: Principal, interrupt_id: UUID) -> HttpResponse:
    """Store an answer by the API's verb; then back to the run's page or the inbox."""
    question = access.find_interrupt(principal, interrupt_id)
    asking = key_of("run", request.POST.get("run"))
    run = access.find(principal, asking) if asking else None
    approval = table.approval_of(json.loads(question.question))
    form = form_of(question, approval, request.POST)
    refusal: Refusal | None = None
    if not form.is_valid():
        refusal = Refusal(form, 422)
    else:
        try:
            answering = start.answer(principal, interrupt_id, form.answer())
        except start.UnknownAgent:
            problem = f"The agent {question.run.agent.slug} is disabled, so it gets no answer."
            refusal = Refusal(form, 409, problem)
        except (NotFound, Forbidden):
            raise
        except AnswerInvalid as error:
            form.blame(error.details["errors"])
            refusal = Refusal(form, error.status)
        except HostError as error:
            refusal = Refusal(form, error.status, _explained(principal, interrupt_id, error))
    if refusal and run:
        with_form = cards.of_run(principal, run, refusal.form, refusal.problem)
        return run_page.show(request, principal, run, with_form, refusal.status)
    if refusal:
        return _inbox(request, principal, refusal)
    messages.success(request, _thanks(form, question, answering))
    if run and "thread" in request.POST:
        return redirect(f"{reverse('thread', args=[run.thread_id])}#foot-{run.pk}")
    return redirect("run", run.pk) if run else redirect("inbox")


def _inbox(
    request: HttpRequest, principal: Principal, refusal: Refusal | None = None
) -> HttpResponse:
    choice = Choice.of(request.GET)
    rows = choice.rows(principal).order_by("-pk")
    soon = [] if request.GET.get("before") or choice.is_history else _soon(rows)
    if before := key_of("before", request.GET.get("before"), "a question"):
        rows = rows.filter(pk__lt=before)
    page_rows = list(cards.light(rows)[: cards.MOST + 1])
    visible = page_rows[: cards.MOST]
    context = {
        "cards": cards.of_rows(
            principal,
            _with_refused(principal, _first(soon, visible), refusal),
            refusal.form if refusal else None,
            refusal.problem if refusal else "",
        ),
        "older": visible[-1].pk if len(page_rows) > cards.MOST else None,
        "choice": choice,
        "stamp": None if before or choice.is_history else _stamp([row.pk for row in visible]),
        "may_answer": principal.can("answer"),
        "unopened": sharing.unopened(principal),
        "by_mail": mail.choice(principal),
        "standing": warnings.standing(principal),
        "push_key": push.sender_key().public if principal.can("answer") else "",
    }
    return render(request, "inbox/list.html", context, status=refusal.status if refusal else 200)


def _soon(rows: QuerySet[Interrupt]) -> list[Interrupt]:
    """The questions that expire first, whenever they were asked."""
    expiring = rows.filter(expires_at__gt=clock.now()).order_by("expires_at", "-pk")
    return list(cards.light(expiring)[:MOST_SOON])


def _first(soon: list[Interrupt], others: list[Interrupt]) -> list[Interrupt]:
    known = {row.pk for row in soon}
    return [*soon, *(row for row in others if row.pk not in known)]


def _with_refused(
    principal: Principal, rows: list[Interrupt], refusal: Refusal | None
) -> list[Interrupt]:
    # A question that a colleague has answered meanwhile comes first, with the answer.
    if refusal is None:
        return rows
    own = access.find_interrupt(principal, refusal.form.question.pk)
    return [own, *(row for row in rows if row.pk != own.pk)]


def _stamp(keys: list[UUID]) -> str:
    return f"{len(keys)}.{keys[0] if keys else ''}.{keys[-1] if keys else ''}"


def _explained(principal: Principal, interrupt_id: UUID, error: HostError) -> str:
    """The message of an answer that was not stored, with the state of the question."""
    question = access.find_interrupt(principal, interrupt_id)
    if isinstance(error, InterruptAnswered) and question.answered_by:
        who, when = person(question.answered_by), age(question.answered_at)
        return f"{who} answered this question {when}, so your answer was not stored."
    if isinstance(error, InterruptExpired):
        return "This question expired before your answer arrived, so it was not stored."
    return f"Your answer was not stored: {error.message}"


def _thanks(form: AnswerForm, question: Interrupt, answering: Run | None) -> str:
    name = question.run.agent.slug
    verb = "The question was dismissed" if form.answer()["status"] == "cancelled" else "Answered"
    if answering is None:
        return f"{verb}. {name} continues once the other questions of its run are answered."
    address = run_page.address(answering)
    return format_html('{}. {} continues in <a href="{}">a new run</a>.', verb, name, address)
