"""The routes of this host, a request of somebody there, and what it must not change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver

from agui_host.runtimes.models import Document, Wisdom
from agui_host.teams.models import ApiKey, GroupRule, Invitation, Membership, Team
from agui_host.web import routing
from events.models import Journal
from runs.models import (
    Alert,
    Budget,
    Comment,
    DataSet,
    DataSetRun,
    Feedback,
    File,
    Grant,
    Interrupt,
    Issue,
    Run,
    RunLabel,
    RunMessage,
    SavedView,
    Schedule,
    Thread,
    Trial,
    Webhook,
    WebhookDelivery,
)
from tests.asgi import Exchange
from tests.suite.rows.glance import Glance

OWN = {"origin": "http://localhost"}


@dataclass(frozen=True)
class Seen:
    """``allow``: the methods that a 405 names; None where it names none."""

    status: int
    text: str
    allow: frozenset[str] | None


async def knock(method: str, url: str, headers: dict[str, str], body: Any) -> Seen:
    """What an asker gets; of a stream only its beginning, unless it ends by itself."""
    payload = body if method in ("POST", "PUT", "PATCH") else None
    async with Exchange(method, url, {**OWN, **headers}, json=payload) as exchange:
        streams = exchange.headers.get("content-type", "").startswith("text/event-stream")
        if streams and method == "POST":
            answer = await exchange.until(b":")
        else:
            answer = await exchange.rest()
        exchange.headers.pop("location", None)  # says again what the asker said
        allow = exchange.headers.get("allow")
        methods = None if allow is None else frozenset(allow.replace(" ", "").split(","))
        return Seen(exchange.status, f"{answer.decode()} {exchange.headers}", methods)


GLANCES: dict[UUID, Glance] = {}
"""By the house's run; each test of a process has the same house."""


def glance(house: Any) -> Glance:
    """What must not change of a house by anything a stranger does."""
    if known := GLANCES.get(house.run.pk):
        return known
    team, runs = house.run.team, (house.run.pk, house.queued.pk)
    of_team = {
        ApiKey: ("pk", "revoked"),
        Membership: ("pk", "role"),
        Document: ("pk",),
        Wisdom: ("pk",),
        GroupRule: ("group", "role"),
        File: ("pk", "sha256", "expires_at"),
        Webhook: ("pk", "url", "events", "secrets"),
        Budget: ("pk", "max", "of", "at_limit"),
        Issue: ("resolved_at", "assignee"),
        RunLabel: ("pk",),
        DataSetRun: ("pk",),
        DataSet: ("pk",),
        Trial: ("pk",),
        Alert: ("pk", "threshold", "snoozed_until"),
        Schedule: ("pk", "cron", "owner", "next_at"),
        SavedView: ("pk", "name", "query", "shared"),
    }
    GLANCES[house.run.pk] = Glance(
        Run.objects.filter(pk__in=runs).values_list("pk", "status", "cancel_requested_at"),
        Journal.objects.filter(pk__in=runs).values_list("pk", "head"),
        Interrupt.objects.filter(pk=house.question.pk).values_list("status"),
        Invitation.objects.filter(pk=house.invitation.pk).values_list("revoked_at"),
        Team.objects.filter(pk=team.pk).values_list("name", "archived_at"),
        *(model.objects.values_list("pk") for model in (Comment, Feedback, Grant, RunMessage)),
        Thread.objects.filter(pk=house.run.thread_id).values_list("title"),
        Grant.objects.filter(pk=house.grant.pk).values_list("revoked_at", "expires_at"),
        WebhookDelivery.objects.filter(pk=house.delivery.pk).values_list("status", "type"),
        *(model.objects.for_team(team).values_list(*of) for model, of in of_team.items()),
    )
    return GLANCES[house.run.pk]


def django_routes(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    """Every pattern below a resolver, written as in the URLconf."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from django_routes(pattern, route)
        else:
            yield route


def asgi_routes(router: Any) -> Iterator[str]:
    """Every pattern of a Channels router."""
    for pattern in router.routes:
        assert isinstance(pattern, URLPattern)
        yield str(pattern.pattern)


def http_router() -> Any:
    return routing.http(lambda scope, receive, send: None)


def filled(route: str, value: object) -> str:
    """An address of a pattern whose parameters are all ``value``."""
    return re.sub(r"<(?:\w+:)?\w+>|\^?\(\?P<url>\.\*\)\$", str(value), route)
