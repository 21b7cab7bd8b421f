"""News of a grant for its receivers: the words for it, and mail to people who want mail."""

from datetime import timedelta
from functools import partial

from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string

from agui_host.backends.postgres import scope
from agui_host.links import absolute
from agui_host.teams.models import Membership, Team
from runs.access.notices import mail, mentions
from runs.models import Grant, MailChoice

PAUSE = timedelta(minutes=1)
"""Receivers get one mail in this time from the same team, however much it shares."""
MOST = 100
"""Mails of one grant."""


def tell(grant: Grant) -> None:
    """Mail a grant to a person or a team, once it is committed, where they want mail."""
    team = receiving(grant)
    if team is None:
        return
    with scope.everywhere():
        if follows_another(grant):
            return
        rows = MailChoice.objects.for_team(team).filter(
            user__in=people(grant), user__is_active=True
        )
        keys = list(rows.order_by("pk").values_list("user_id", flat=True)[:MOST])
        addresses = [mail.address_of(key) for key in keys]
    context = {"words": words(grant), "grant": grant, "link": absolute(path(grant)), "to": team}
    text = render_to_string("email/shared.txt", {**context, "page": absolute("/team/received/")})
    mails = [EmailMessage(words(grant), text, None, [address]) for address in addresses if address]
    if mails:
        transaction.on_commit(partial(mentions.send, mails), robust=True)


def receiving(grant: Grant) -> Team | None:
    """The team in which a grant is received; None for a link."""
    return grant.through if grant.to_user_id is not None else grant.to_team


def people(grant: Grant) -> list[int]:
    """The ids of the people who receive a grant."""
    if grant.to_user_id is not None:
        return [grant.to_user_id]
    if grant.to_team is None:
        return []
    rows = Membership.objects.for_team(grant.to_team).filter(user__is_active=True)
    return list(rows.values_list("user_id", flat=True))


def words(grant: Grant) -> str:
    """The sharer and the kind of object, without anything of its contents."""
    sharer = grant.created_by.partition(":")[2]
    what = "a thread" if grant.thread_id is not None else "a run"
    team = " ".join(grant.team.name.split())
    return f"{sharer} of {team} shared {what} with you"


def path(grant: Grant) -> str:
    """The page of the thread or run."""
    if grant.thread_id is not None:
        return f"/threads/{grant.thread_id}/"
    return f"/runs/{grant.run_id}/"


def follows_another(grant: Grant) -> bool:
    """Whether the same team has shared with the same receivers within a minute before."""
    same = Grant.objects.for_team(grant.team).filter(to_user=grant.to_user, to_team=grant.to_team)
    since = grant.created_at - PAUSE
    return same.filter(created_at__gt=since, pk__lt=grant.pk).exists()
