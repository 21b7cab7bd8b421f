"""A person's data as JSON objects, one for each row (Art. 15 and 20 GDPR)."""

import json
from collections.abc import Iterator
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet

from agui_host.backends.postgres import scope
from agui_host.teams.models import AuditEntry, Invitation
from agui_host.teams.tenancy import operator_code
from runs.access.people import columns

SECRET = frozenset(
    {"password", "hashed_key", "token_hash", "secrets", "digest", "data", "session_key", "endpoint",
     "p256dh", "auth", "sealed", "key_hash", "subscription"}
)  # fmt: skip
"""Columns that would let a reader of the export in, or into a browser."""
ACCOUNT: tuple[type[Model], ...] = (EmailAddress, Authenticator, SocialAccount, UserSession)


def records(user: User) -> Iterator[dict[str, Any]]:
    """The account, then each row that the person made or that is about them."""
    with operator_code("a person's export"), scope.everywhere():
        yield from _records(user)


def lines(user: User) -> Iterator[str]:
    """The records as JSON, one a line."""
    for record in records(user):
        yield json.dumps(record, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n"


def _records(user: User) -> Iterator[dict[str, Any]]:
    yield from _rows(User.objects.filter(pk=user.pk))
    for model in ACCOUNT:
        yield from _rows(model._default_manager.filter(user=user))
    emails = [email.lower() for email in _emails(user)]
    yield from _rows(Invitation.objects.filter(email__in=emails))
    actors = columns.actors_of(user)
    for model in columns.models():
        condition = columns.of_user(model, user) | columns.of_actors(model, actors)
        if condition:
            yield from _rows(model._default_manager.filter(condition).order_by("pk"))
    yield from _rows(AuditEntry.objects.filter(actor__in=actors).order_by("pk"))


def _rows(rows: QuerySet[Any]) -> Iterator[dict[str, Any]]:
    names = [field.attname for field in rows.model._meta.concrete_fields]
    public = [name for name in names if name not in SECRET]
    for values in rows.values(*public).iterator(chunk_size=200):
        plain = {k: v for k, v in values.items() if not isinstance(v, bytes | memoryview)}
        yield {"kind": rows.model._meta.label_lower, **plain}


def _emails(user: User) -> list[str]:
    addresses = EmailAddress.objects.filter(user=user, verified=True)
    return list(addresses.values_list("email", flat=True))
