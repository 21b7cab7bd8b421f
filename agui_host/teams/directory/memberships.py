"""Memberships that an identity provider gives, changes and takes away."""

from typing import TYPE_CHECKING

import structlog
from django.db import transaction

from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.actors import Acting
from agui_host.teams.models import Membership, Origin, Role, Team
from agui_host.teams.revocation import revoked

if TYPE_CHECKING:
    from django.contrib.auth.models import User

log = structlog.get_logger(__name__)


@transaction.atomic
def settle(team: Team, user: "User", role: Role | None, origin: Origin, by: Acting | str) -> None:
    """Give the person this role in the team, or with None end their membership of this origin.

    A membership of another origin stays as it is, and so does a team's last owner.
    """
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    name = user.get_username()
    row = Membership.objects.for_team(team).select_related("user").filter(user=user).first()
    if row is None:
        if role is not None:
            Membership.objects.create(team=team, user=user, role=role, origin=origin)
            audit.record(by, team, "member.added", name, role=role, origin=origin)
        return
    before = Role(row.role)
    if row.origin != origin or before == role:
        return
    try:
        members.require_other_owner(row, before)
    except members.LastOwner:
        log.warning("directory.last_owner_kept", team=team.slug, user=name)
        return
    if role is None:
        row.delete()
        audit.record(by, team, "member.removed", name, role=before, origin=origin)
        members.left(team, user, by)
    else:
        row.role = role
        row.save(update_fields=["role"])
        audit.record(by, team, "member.changed", name, role=role, was=before, origin=origin)
        revoked(team.pk)
