"""Operators close a person's account, open it, or forget its second factors."""

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import transaction

from agui_host.backends.postgres import scope
from agui_host.errors import Conflict
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.accounts import sessions
from agui_host.teams.actors import Acting
from agui_host.teams.models import Membership, Team
from agui_host.teams.revocation import revoked


class OwnAccount(Conflict):
    """You cannot close your own account here."""

    code = "own_account"


@scope.everywhere()
@transaction.atomic
def close(user: User, by: Acting | str) -> None:
    """End the person's access to all teams, with their sessions, keys and links; idempotent."""
    if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
        return
    sessions.end_others(user, None)
    for team in _teams(user):
        audit.record(by, team, "account.closed", user.get_username())
        members.left(team, user, by)


@scope.everywhere()
@transaction.atomic
def reopen(user: User, by: Acting | str) -> None:
    """Let the person sign in again, with the memberships that they still have; idempotent."""
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        for team in _teams(user):
            audit.record(by, team, "account.opened", user.get_username())


@scope.everywhere()
@transaction.atomic
def forget_factors(user: User, by: Acting | str) -> None:
    """Delete the person's second factors, for somebody who lost them; their sessions end."""
    if not Authenticator.objects.filter(user=user).delete()[0]:
        return
    sessions.end_others(user, None)
    for team in _teams(user):
        audit.record(by, team, "factor.removed", user.get_username(), kind="all")
        revoked(team.pk)


def _teams(user: User) -> list[Team]:
    rows = Membership.objects.of_one_person().filter(user=user).select_related("team")
    return [row.team for row in rows]
