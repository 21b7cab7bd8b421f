"""Mail to owners about changes that concern the whole team."""

from functools import partial
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.template.loader import render_to_string

from agui_host.links import absolute
from agui_host.teams.models import ApiKey, Membership, Role, Team

log = structlog.get_logger(__name__)


def key_made(key: ApiKey, by: str) -> None:
    """Tell the owners of a new key once it is committed; ``by`` is the label of its maker."""
    context = {"key": key, "by": by, "link": absolute("/team/keys/")}
    _after_commit(key.team, f"A new API key of {key.team.name}", "email/key_made.txt", context)


def webhook_disabled(team: Team, url: str, reason: str) -> None:
    """Tell the owners once it is committed that a webhook is no longer called.

    ``reason`` is ``failing``, ``gone``, ``backlog`` or ``maker_left``. Of the URL only its host is
    mailed: the rest can be a secret.
    """
    host = urlsplit(url).hostname
    context = {"team": team, "host": host, "reason": reason, "link": absolute("/team/webhooks/")}
    subject = f"A webhook of {team.name} was disabled"
    _after_commit(team, subject, "email/webhook_disabled.txt", context)


def _after_commit(team: Team, subject: str, template: str, context: dict[str, Any]) -> None:
    send = partial(_send, team, " ".join(subject.split()), template, context)
    transaction.on_commit(send, robust=True)


def _send(team: Team, subject: str, template: str, context: dict[str, Any]) -> None:
    owners = Membership.objects.for_team(team).filter(role=Role.OWNER, user__is_active=True)
    addresses = [row.user.email for row in owners.select_related("user") if row.user.email]
    if not addresses:
        return
    text = render_to_string(template, context)
    try:
        get_connection().send_messages(
            [EmailMessage(subject, text, None, [address]) for address in addresses]
        )
    except OSError as error:  # SMTPException is one; the change is valid all the same
        log.warning("mail.lost", error=repr(error), subject=subject)
