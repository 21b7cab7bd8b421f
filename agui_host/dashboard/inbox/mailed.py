"""The page of a mailed question, which takes its receiver's answer without a sign-in."""

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from agui_host.dashboard.inbox import cards
from agui_host.dashboard.inbox.decisions import form_of
from agui_host.dashboard.pages import action, at_secret_address, uncached
from agui_host.errors import NotFound
from agui_host.kinds import starts
from agui_host.protocol.errors import HostError
from agui_host.protocol.questions import table
from agui_host.teams.authentication import Principal
from runs.access import access, start
from runs.access.notices import mail
from runs.access.notices.mail import Opened
from runs.lifecycle.resume import AnswerInvalid


@starts
@uncached
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("token")
def question(request: HttpRequest, token: str) -> HttpResponse:
    """The question of a mailed link; opening it uses nothing up, an answer does."""
    try:
        opened = mail.open_link(token)
        answer = _answer(request, opened) if request.method == "POST" else _show(request, opened)
    except HostError as error:
        answer = render(request, "error.html", {"error": error}, status=error.status)
    return at_secret_address(answer)


@action("inbox")
def choose(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Mail questions to the visitor, or no more."""
    try:
        how = request.POST.get("mail", mail.OFF)
        mail.choose(principal, how if how in (mail.EACH, mail.DAILY) else mail.OFF)
    except mail.NoAddress as error:
        messages.error(request, error.message)
    return redirect("inbox")


def _show(request: HttpRequest, opened: Opened, **more: object) -> HttpResponse:
    row = access.find_interrupt(opened.principal, opened.link.interrupt_id)
    form = more.pop("form", None)
    card = cards.card(opened.principal, row, form)  # type: ignore[arg-type]
    context = {"opened": opened, "card": card, "page_action": request.path, **more}
    return render(request, "inbox/mailed.html", context, status=422 if form else 200)


def _answer(request: HttpRequest, opened: Opened) -> HttpResponse:
    row = access.find_interrupt(opened.principal, opened.link.interrupt_id, "answer")
    form = form_of(row, table.approval_of(json.loads(row.question)), request.POST)
    if not form.is_valid():
        return _show(request, opened, form=form)
    mail.use(opened)
    try:
        run = start.answer(opened.principal, row.pk, form.answer())
    except NotFound:
        raise
    except AnswerInvalid as error:
        mail.give_back(opened)
        form.blame(error.details["errors"])
        return _show(request, opened, form=form)
    except HostError as error:
        mail.give_back(opened)
        return _show(request, opened, form=form, problem=error.message)
    context = {"agent": row.run.agent.slug, "continues": run is not None}
    return render(request, "inbox/answered.html", context)
