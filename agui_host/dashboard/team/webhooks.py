"""The team's webhooks: make one, whose secret is shown once; see its deliveries."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.forms import WebhookForm, submitted
from agui_host.dashboard.pages import Question, action, both, page
from agui_host.teams.authentication import Principal
from runs.access import webhooks

MOST = 100


@both
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The webhooks, and the form that makes one; only its answer shows the new secret."""
    if request.method != "POST":
        return _list(request, principal, WebhookForm())
    form = WebhookForm(request.POST)
    made = submitted(form, lambda fields: webhooks.create(principal, _values(fields)))
    if made is None:
        return _list(request, principal, form)
    return _list(request, principal, WebhookForm(), made[1])


@page
def detail(request: HttpRequest, principal: Principal, webhook_id: UUID) -> HttpResponse:
    """One webhook and its newest deliveries."""
    return _detail(request, principal, webhook_id)


@action("team-webhook")
def rotate(request: HttpRequest, principal: Principal, webhook_id: UUID) -> HttpResponse:
    """Make a new secret, shown on the page that answers."""
    _, secret = webhooks.rotate(principal, webhook_id)
    return _detail(request, principal, webhook_id, secret)


@action("team-webhook")
def switch(request: HttpRequest, principal: Principal, webhook_id: UUID) -> HttpResponse:
    """Enable or disable a webhook."""
    webhooks.change(principal, webhook_id, {"enabled": request.POST.get("enabled") == "yes"})
    return redirect("team-webhook", webhook_id)


@action("team-webhook")
def send_test(request: HttpRequest, principal: Principal, webhook_id: UUID) -> HttpResponse:
    """Send a test message."""
    webhooks.send_test(principal, webhook_id)
    return redirect("team-webhook", webhook_id)


@action("team-webhook")
def redeliver(
    request: HttpRequest, principal: Principal, webhook_id: UUID, delivery_id: UUID
) -> HttpResponse:
    """Deliver once more."""
    webhooks.redeliver(principal, webhook_id, delivery_id)
    return redirect("team-webhook", webhook_id)


@action(
    "team-webhook",
    asks=Question(
        "Delete this webhook?",
        "Its address gets no more messages, and the list of its deliveries is deleted.",
        "Delete",
    ),
)
def remove(request: HttpRequest, principal: Principal, webhook_id: UUID) -> HttpResponse:
    """Delete a webhook with its deliveries."""
    webhooks.remove(principal, webhook_id)
    return redirect("team-webhooks")


def _values(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "agents": fields["agents"].split() or None}


def _list(
    request: HttpRequest, principal: Principal, form: WebhookForm, secret: str = ""
) -> HttpResponse:
    manages = principal.can("manage_webhooks")
    rows = webhooks.visible(principal).order_by("-id")[:MOST] if manages else []
    context = {"rows": rows, "manages": manages, "form": form, "secret": secret}
    return render(request, "team/webhooks.html", context, status=422 if form.errors else 200)


def _detail(
    request: HttpRequest, principal: Principal, webhook_id: UUID, secret: str = ""
) -> HttpResponse:
    context = {
        "webhook": webhooks.find(principal, webhook_id),
        "deliveries": webhooks.history(principal, webhook_id).order_by("-id")[:MOST],
        "secret": secret,
        "most": MOST,
    }
    return render(request, "team/webhook.html", context)
