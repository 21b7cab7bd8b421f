"""A person's data as JSON objects, one for each row (Art. 15 and 20 GDPR)."""

import json
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Q, QuerySet

from agui_host.backends import work
from agui_host.backends.postgres import scope
from agui_host.errors import Conflict
from agui_host.teams import authentication
from agui_host.teams.limits import refuse_work
from agui_host.teams.models import AuditEntry, Invitation, Membership, StreamTicket
from agui_host.teams.tenancy import operator_code
from runs.access.people import columns
from runs.models import Run

SECRET = frozenset(
    {"password", "hashed_key", "token_hash", "secrets", "digest", "data", "session_key", "endpoint",
     "p256dh", "auth", "sealed", "key_hash", "subscription", "end_user_secret"}
)  # fmt: skip
"""Columns that would let a reader of the export in, or into a browser."""
ACCOUNT: tuple[type[Model], ...] = (EmailAddress, Authenticator, SocialAccount, UserSession)


MOST = 20_000_000
"""Characters of the export over HTTP, which is made in memory."""
AT_ONCE = 10
"""Rows under way: a run can have megabytes."""


class ExportTooLarge(Conflict):
    """This is too much for one answer: an operator writes it with `agui-host export-person`."""

    code = "export_too_large"


def lines(user: User, teams: Collection[UUID] | None = None) -> Iterator[str]:
    """The account, then each row that the person made or that is about them, as JSON, one a line.

    ``teams`` leaves out the rows of other teams.
    """
    with operator_code("a person's export"), scope.everywhere():
        for record in _records(user, teams):
            yield json.dumps(record, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n"


def bounded(user: User, teams: Collection[UUID] | None = None) -> list[str]:
    """``lines`` for an answer over HTTP. Raises ExportTooLarge, and LimitReached for the payer."""
    payer = f"export:{user.pk}"
    refuse_work(payer)
    size, made = 0, []
    for line in lines(user, teams):
        size += len(line)
        work.charge(payer, "view", work.of_json(line))
        if size > MOST:
            raise ExportTooLarge
        made.append(line)
    return made


def for_themselves(user: User) -> list[str]:
    """``bounded``, of the teams that the person can enter: another team's runs are its own."""
    with scope.everywhere():
        rows = Membership.objects.of_one_person().filter(user=user, team__archived_at=None)
        open_teams = [
            row.team_id
            for row in rows.select_related("team")
            if authentication.meets_rules(user.pk, row.team)
        ]
    return bounded(user, open_teams)


def _records(user: User, teams: Collection[UUID] | None) -> Iterator[dict[str, Any]]:
    yield from _rows(User.objects.filter(pk=user.pk))
    for model in ACCOUNT:
        yield from _rows(model._default_manager.filter(user=user))
    emails = [email.lower() for email in _emails(user)]
    yield from _rows(Invitation.objects.filter(email__in=emails))
    actors = columns.actors_of(user)
    of_teams = Q() if teams is None else Q(team__in=teams)
    for model in columns.models():
        condition = columns.of_user(model, user) | columns.of_actors(model, actors)
        if not condition or model is StreamTicket:
            continue
        if model is Run:  # Runs of end users are of other people, whose names are in them.
            condition &= Q(end_user="")
        if any(field.name == "team" for field in model._meta.concrete_fields):
            condition &= of_teams
        yield from _rows(model._default_manager.filter(condition).order_by("pk"))
    audited = AuditEntry.objects.filter(of_teams, actor__in=actors)
    yield from _rows(audited.exclude(details__contains='"end_user":').order_by("pk"))


def _rows(rows: QuerySet[Any]) -> Iterator[dict[str, Any]]:
    names = [field.attname for field in rows.model._meta.concrete_fields]
    public = [name for name in names if name not in SECRET]
    for values in rows.values(*public).iterator(chunk_size=AT_ONCE):
        plain = {k: v for k, v in values.items() if not isinstance(v, bytes | memoryview)}
        yield {"kind": rows.model._meta.label_lower, **plain}


def _emails(user: User) -> list[str]:
    addresses = EmailAddress.objects.filter(user=user, verified=True)
    return list(addresses.values_list("email", flat=True))
