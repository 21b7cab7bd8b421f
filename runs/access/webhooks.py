"""A team's webhooks as callers manage them: permission, limits, and the audit log."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.models import Agent
from agui_host.security.addresses import check_url
from agui_host.security.secrets import SecretUnreadable
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.offboarding import Ended, Leaving
from agui_host.teams.tenancy import TeamQuerySet
from runs.lifecycle.webhooks import deliveries, signing
from runs.models import DeliveryStatus, Webhook, WebhookDelivery
from runs.models.webhook import EVENTS, TEST, Stop


class WebhooksFull(Conflict):
    """The team has as many webhooks as this host allows; remove one first."""

    code = "webhooks_full"


class WebhookDisabled(Conflict):
    """This webhook is disabled; enable it first."""

    code = "webhook_disabled"


class DeliveryPending(Conflict):
    """This is being delivered already; wait for its outcome."""

    code = "delivery_pending"


def visible(principal: Principal) -> TeamQuerySet[Webhook]:
    """The team's webhooks, if the principal may manage them. Raises Forbidden."""
    principal.require("manage_webhooks")
    rows: TeamQuerySet[Webhook] = Webhook.objects.for_team(principal.team).filter(task=None)
    if principal.agents is not None:
        rows = rows.filter(agents__contained_by=list(principal.agents))
    return rows


def find(principal: Principal, webhook_id: UUID) -> Webhook:
    """One of them. Raises NotFound, Forbidden."""
    row = visible(principal).filter(pk=webhook_id).first()
    if row is None:
        raise NotFound("There is no such webhook.")
    return row


def create(principal: Principal, values: Mapping[str, Any]) -> tuple[Webhook, str]:
    """A new webhook of ``url``, ``events``, ``agents``, ``contents``; and its secret.

    Raises Forbidden, Invalid, AddressRefused, WebhooksFull.
    """
    principal.require("manage_webhooks")
    with members.holding(principal) as now:
        now.require("manage_webhooks")
        most = settings.AGUI_WEBHOOKS_MAX
        if most and Webhook.objects.for_team(now.team).filter(task=None).count() >= most:
            raise WebhooksFull(details={"max": most})
        secret = signing.new()
        row = Webhook(team=now.team, secrets=signing.sealed(secret))
        _set(now, row, {"agents": None, **values})
        row.created_by, row.creator = principal.label, principal.actor_id
        row.save(force_insert=True)
        audit.record(
            principal, now.team, "webhook.created", str(row.pk), events=row.events,
            agents=row.agents,
        )  # fmt: skip
    row.refresh_from_db(fields=["created_at"])
    return row, secret


def change(principal: Principal, webhook_id: UUID, values: Mapping[str, Any]) -> Webhook:
    """Set what ``values`` name: ``create``'s, and ``enabled``. Raises as ``create``, and NotFound.

    The person who enables a webhook answers for it from then on, as its maker did.
    """
    with members.holding(principal) as now:
        row = _locked(now, webhook_id)
        _set(now, row, values)
        if "enabled" in values and values["enabled"] != row.enabled:
            row.enabled = values["enabled"]
            row.stopped = "" if row.enabled else Stop.PAUSED
            if row.enabled:
                row.failing_since = None
                row.created_by, row.creator = principal.label, principal.actor_id
        row.save()
        audit.record(principal, now.team, "webhook.changed", str(row.pk), fields=sorted(values))
    return row


def remove(principal: Principal, webhook_id: UUID) -> None:
    """Delete a webhook with its deliveries. Raises NotFound, Forbidden."""
    with members.holding(principal) as now:
        row = _locked(now, webhook_id)
        row.delete()
        audit.record(principal, now.team, "webhook.deleted", str(webhook_id))


def rotate(principal: Principal, webhook_id: UUID) -> tuple[Webhook, str]:
    """A new secret; the old one signs along for a day. Raises NotFound, Forbidden."""
    with members.holding(principal) as now:
        row, secret = _locked(now, webhook_id), signing.new()
        try:
            row.secrets = signing.rotated(row.secrets, secret, clock.now())
        except SecretUnreadable:
            row.secrets = signing.sealed(secret)
        row.save(update_fields=["secrets"])
        audit.record(principal, now.team, "webhook.rotated", str(row.pk))
    return row, secret


def send_test(principal: Principal, webhook_id: UUID) -> WebhookDelivery:
    """Send the webhook a test message. Raises NotFound, Conflict."""
    with members.holding(principal) as now:
        row = _enabled(now, webhook_id)
        pending = WebhookDelivery.objects.filter(webhook=row, type=TEST)
        if pending.filter(status=DeliveryStatus.PENDING).exists():
            raise DeliveryPending
        delivery = WebhookDelivery(team=now.team, webhook=row, type=TEST, due_at=clock.now())
        delivery.save(force_insert=True)
        audit.record(principal, now.team, "webhook.tested", str(row.pk))
    delivery.refresh_from_db()
    return delivery


def history(principal: Principal, webhook_id: UUID) -> TeamQuerySet[WebhookDelivery]:
    """The deliveries of a webhook. Raises NotFound, Forbidden."""
    row = find(principal, webhook_id)
    rows: TeamQuerySet[WebhookDelivery] = WebhookDelivery.objects.filter(webhook=row)
    return rows


def redeliver(principal: Principal, webhook_id: UUID, delivery_id: UUID) -> WebhookDelivery:
    """Deliver once more, under the same id, with as many retries as at first.

    Raises NotFound, Forbidden, Conflict.
    """
    with members.holding(principal) as now:
        row = _enabled(now, webhook_id)
        deliveries_of = WebhookDelivery.objects.filter(webhook=row, pk=delivery_id)
        if not deliveries_of.exists():
            raise NotFound("There is no such delivery.")
        ended = deliveries_of.exclude(status=DeliveryStatus.PENDING)
        if not ended.update(
            status=DeliveryStatus.PENDING, tries=0, due_at=clock.now(), ended_at=None
        ):
            raise DeliveryPending
        audit.record(
            principal, now.team, "webhook.redelivered", str(row.pk), delivery=str(delivery_id)
        )
        delivery: WebhookDelivery = deliveries_of.get()
    return delivery


def withdraw(leaving: Leaving) -> Ended:
    """Disable the webhooks of a leaver: they would still send them news of the team."""
    rows = Webhook.objects.for_team(leaving.team).filter(creator__in=leaving.actors, enabled=True)
    for webhook_id in list(rows.values_list("pk", flat=True)):
        deliveries.stop(webhook_id, Stop.MAKER_LEFT, leaving.by)
    return Ended()


def _locked(principal: Principal, webhook_id: UUID) -> Webhook:
    principal.require("manage_webhooks")
    row = visible(principal).select_for_update(of=("self",)).filter(pk=webhook_id).first()
    if row is None:
        raise NotFound("There is no such webhook.")
    return row


def _enabled(principal: Principal, webhook_id: UUID) -> Webhook:
    row = _locked(principal, webhook_id)
    if not row.enabled:
        raise WebhookDisabled
    return row


def _set(principal: Principal, row: Webhook, values: Mapping[str, Any]) -> None:
    if "url" in values:
        check_url(values["url"])
        row.url = values["url"]
    if "events" in values:
        row.events = [event for event in EVENTS if event in values["events"]]
    if "agents" in values:
        row.agents = _agents(principal, values["agents"])
    if "contents" in values:
        row.contents = values["contents"]


def _agents(principal: Principal, slugs: Sequence[str] | None) -> list[str] | None:
    """The slugs, if they are agents of the team that the credential is for."""
    if slugs is None:
        if principal.agents is not None:
            raise Forbidden("This key is for some agents only; name them in agents.")
        return None
    names = sorted(set(slugs))
    known = set(
        Agent.objects.for_team(principal.team).filter(slug__in=names).values_list("slug", flat=True)
    )
    missing = [slug for slug in names if slug not in known or not principal.may_use(slug)]
    if missing:
        raise Invalid(f"There is no agent {missing[0]!r}.", details={"path": "agents"})
    return names
