"""Mentions in comments: whom one reaches, their mail, and where its receiver finds it again."""

from collections.abc import Collection, Sequence
from functools import partial

import structlog
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string

from agui_host.links import absolute
from agui_host.teams.actors import user_id
from agui_host.teams.authentication import Principal, of_actor
from agui_host.teams.models import Membership, Team
from runs.access import access
from runs.access.notices import mail
from runs.models import Comment, MailChoice, Mention, Run

log = structlog.get_logger(__name__)
SHOWN = 1_000
"""Characters of a comment in a mail."""


def members(team: Team, run: Run, names: Collection[str]) -> tuple[list[User], list[str]]:
    """The members of these sign-in names who may see the run, and the names of the others.

    The latter are told to the author, who sees the run and the team's members anyway.
    """
    rows = Membership.objects.for_team(team).select_related("user").order_by("user__username")
    reached, others = [], []
    for row in rows.filter(user__username__in=names, user__is_active=True):
        principal = of_actor(team, user_id(row.user_id))
        if principal is not None and access.readable(principal, [run.pk]):
            reached.append(row.user)
        else:
            others.append(row.user.get_username())
    return reached, others


def tell(comment: Comment, people: Sequence[User]) -> None:
    """Mail a comment, once it is committed, to those of the people who want mail of the team."""
    rows = MailChoice.objects.for_team(comment.team).filter(user__in=people)
    addresses = [mail.address_of(pk) for pk in rows.values_list("user_id", flat=True)]
    author = comment.author.partition(":")[2]
    text = render_to_string(
        "email/mention.txt",
        {
            "author": author,
            "team": comment.team,
            "text": comment.text[:SHOWN],
            "link": absolute(f"/runs/{comment.run_id}/"),
        },
    )
    subject = f"{author} mentioned you · {' '.join(comment.team.name.split())}"
    mails = [EmailMessage(subject, text, None, [address]) for address in addresses if address]
    if mails:
        transaction.on_commit(partial(send, mails), robust=True)


def of(principal: Principal) -> QuerySet[Comment]:
    """The comments that mention this person, on runs that they may still see; newest first."""
    principal.require("view")
    mine = Mention.objects.for_team(principal.team).filter(user=principal.user_id)
    rows = Comment.objects.for_team(principal.team).filter(
        pk__in=mine.values("comment"), run__in=access.visible(principal).values("pk")
    )
    return rows.select_related("run__agent", "run__thread").order_by("-pk")


def send(mails: Sequence[EmailMessage]) -> None:
    """Send mails; a mail server that fails loses them, and nothing else."""
    try:
        get_connection().send_messages(mails)
    except OSError as error:  # SMTPException is one; the comment is stored all the same.
        log.warning("mail.lost", error=repr(error), subject=mails[0].subject)
