"""Mail that tells owners about changes that concern the whole team."""

from functools import partial

import structlog
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.template.loader import render_to_string

from agui_project.links import absolute
from teams.models import ApiKey, Membership, Role

log = structlog.get_logger(__name__)


def key_made(key: ApiKey, by: str) -> None:
    """Tell the owners of a new key once it is committed; ``by`` is the label of its maker."""
    transaction.on_commit(partial(_send, key, by), robust=True)


def _send(key: ApiKey, by: str) -> None:
    owners = Membership.objects.for_team(key.team).filter(role=Role.OWNER, user__is_active=True)
    addresses = [row.user.email for row in owners.select_related("user") if row.user.email]
    if not addresses:
        return
    subject = " ".join(f"A new API key of {key.team.name}".split())
    context = {"key": key, "by": by, "link": absolute("/team/keys/")}
    text = render_to_string("email/key_made.txt", context)
    try:
        get_connection().send_messages(
            [EmailMessage(subject, text, None, [address]) for address in addresses]
        )
    except OSError as error:  # SMTPException is one; the key exists all the same
        log.warning("mail.lost", error=repr(error), key=key.prefix)
