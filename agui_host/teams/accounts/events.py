"""Records what people do with their accounts in the audit log of each of their teams.

Django's and allauth's documented signals are connected here and nowhere else. Sign-ins, sign-outs
and changes come from allauth's pages, the admin and identity providers; no view and no hook of an
adapter sees all of them, and a failed sign-in never reaches one of our views.
"""

from collections.abc import Callable
from typing import Any

import structlog
from allauth.account import signals as account
from allauth.account.models import EmailAddress
from allauth.mfa import signals as mfa
from django.contrib.auth import signals as auth
from django.contrib.auth.models import User
from django.db.models import Q
from django.dispatch import Signal

from agui_host.backends.postgres import scope
from agui_host.security.requester import ADDRESS
from agui_host.teams import audit
from agui_host.teams.models import Team
from agui_host.teams.revocation import revoked

log = structlog.get_logger(__name__)
Details = Callable[[dict[str, Any]], dict[str, str]]

NOBODY = "nobody"
"""The actor of a failed sign-in: the caller can not be the person of that name."""


@scope.everywhere()
def note(user: User, action: str, **details: str) -> None:
    """Add a line to the log of every team of the person; their open streams re-check access."""
    for team in Team.objects.filter(pk__in=user.memberships.values("team")):
        audit.record(audit.of_user(user), team, action, **details)
        revoked(team.pk)


def _nothing(fields: dict[str, Any]) -> dict[str, str]:
    return {}


def _address(fields: dict[str, Any]) -> dict[str, str]:
    return {"email": fields["email_address"].email}


def _new_address(fields: dict[str, Any]) -> dict[str, str]:
    return {"email": fields["to_email_address"].email}


def _kind(fields: dict[str, Any]) -> dict[str, str]:
    row = fields["authenticator"]  # Some flows send a wrapper of the row.
    return {"kind": str(getattr(row, "instance", row).type)}


EVENTS: list[tuple[Signal, str, Details]] = [
    (auth.user_logged_in, "session.started", _nothing),
    (auth.user_logged_out, "session.ended", _nothing),
    (account.password_set, "password.changed", _nothing),
    (account.password_changed, "password.changed", _nothing),
    (account.password_reset, "password.reset", _nothing),
    (account.email_added, "email.added", _address),
    (account.email_removed, "email.removed", _address),
    (account.email_changed, "email.changed", _new_address),
    (account.email_confirmed, "email.verified", _address),
    (mfa.authenticator_added, "factor.added", _kind),
    (mfa.authenticator_removed, "factor.removed", _kind),
    (mfa.authenticator_reset, "factor.reset", _kind),
    (mfa.authentication_failed, "factor.refused", _nothing),
]


def connect() -> None:
    """Connect the signals; called once, when the app registry is ready."""
    for signal, action, details in EVENTS:
        signal.connect(_listener(action, details), weak=False, dispatch_uid=f"teams.{action}")
    auth.user_login_failed.connect(_refused, dispatch_uid="teams.session.refused")


def _listener(action: str, details: Details) -> Callable[..., None]:
    def listener(sender: Any, **fields: Any) -> None:
        user = fields.get("user") or getattr(fields.get("email_address"), "user", None)
        if isinstance(user, User) and user.pk:
            note(user, action, **details(fields))

    return listener


@scope.everywhere()
def _refused(sender: Any, *, credentials: dict[str, Any], **fields: Any) -> None:
    """Record a failed sign-in without the typed name: people also type passwords there."""
    typed = str(credentials.get("username") or credentials.get("email") or "").replace("\x00", "")
    log.warning("session.refused", address=ADDRESS.get())
    owners = EmailAddress.objects.filter(email__iexact=typed, verified=True).values("user")
    people = User.objects.filter(Q(username__iexact=typed) | Q(pk__in=owners)) if typed else []
    for user in people:
        for team in Team.objects.filter(pk__in=user.memberships.values("team")):
            audit.record(NOBODY, team, "session.refused", user.get_username())
