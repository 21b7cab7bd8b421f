"""Teams with their limits, people and keys."""

from typing import TYPE_CHECKING

from allauth.account.models import EmailAddress

from agui_host.apply.changes import BY, Changes
from agui_host.apply.document import BadFile, LimitValues, TeamValues
from agui_host.apply.sign_in import apply_sign_in
from agui_host.apply.team_keys import apply_key
from agui_host.backends.postgres import clock
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.zones import zone
from agui_host.runtimes.create_team import create_team
from agui_host.teams import audit
from agui_host.teams.access import invitations
from agui_host.teams.models import Invitation, Membership, Role, Team, TeamLimits
from agui_host.teams.revocation import revoked

if TYPE_CHECKING:
    from django.contrib.auth.models import User

RULES = ("key_days", "second_factor", "time_zone")


def apply_team(slug: str, values: TeamValues, changes: Changes) -> Team:
    """The team of this slug, with the file's name, limits, people and keys. Raises BadFile."""
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        owner = account_of(values.owner) if values.owner else None
        team = create_team(slug, values.name or slug, owner, by=BY)
        changes.made(f"team {slug}")
    elif values.name is not None and values.name != team.name:
        before, team.name = team.name, values.name
        team.save(update_fields=["name"])
        changes.changed(f"{slug} name", before, team.name)
        audit.record(BY, team, "team.renamed", name=team.name, was=before)
    _apply_rules(team, values, changes)
    if values.limits is not None:
        _apply_limits(team, values.limits, changes)
    people = {email.lower(): Role(role) for email, role in values.members.items()}
    if values.owner:
        people[values.owner.lower()] = Role.OWNER
    for email, role in people.items():
        _apply_member(team, email, role, changes)
    if people and not _has_owner(team):
        raise BadFile(f"teams.{slug}.members: the team would have no owner")
    apply_sign_in(team, values, changes)
    for name, key in values.keys.items():
        apply_key(team, name, key, changes)
    return team


def account_of(email: str) -> "User | None":
    """The account whose verified address this is."""
    address = EmailAddress.objects.filter(email__iexact=email, verified=True).first()
    return address.user if address else None


def _has_owner(team: Team) -> bool:
    owners = Membership.objects.for_team(team).filter(role=Role.OWNER)
    return owners.exists() or not Membership.objects.for_team(team).exists()


def _apply_rules(team: Team, values: TeamValues, changes: Changes) -> None:
    members = values.present()
    rules = {name: members[name] for name in RULES if name in members}
    for name in ("second_factor", "time_zone"):
        if rules.get(name, ...) is None:
            del rules[name]
    try:
        zone(rules.get("time_zone", team.time_zone))
    except Invalid as invalid:
        raise BadFile(f"teams.{team.slug}.time_zone: {invalid.message}") from None
    if names := changes.difference(team.slug, team, rules):
        team.save(update_fields=names)
        audit.record(BY, team, "team.rules", **{name: rules[name] for name in names})
        revoked(team.pk)  # People without a second factor lose their streams.


def _apply_limits(team: Team, limits: LimitValues, changes: Changes) -> None:
    row = TeamLimits.objects.filter(team=team).first() or TeamLimits(team=team)
    names = changes.difference(f"{team.slug} limits", row, limits.present())
    if names:
        row.save()
        audit.record(BY, team, "admin.changed", "teamlimits", fields=names)


def _apply_member(team: Team, email: str, role: Role, changes: Changes) -> None:
    if "@" not in email:
        raise BadFile(f"teams.{team.slug}.members: {email} is no e-mail address")
    place = f"{team.slug} member {email}"
    if (user := account_of(email)) is None:
        _invite(team, email, role, changes)
        return
    row = Membership.objects.for_team(team).filter(user=user).first()
    if row is None:
        Membership.objects.create(team=team, user=user, role=role)
        changes.made(place, role.value)
        audit.record(BY, team, "member.changed", user.get_username(), role=role, was=None)
    elif row.role != role:
        changes.changed(place, row.role, role.value)
        audit.record(BY, team, "member.changed", user.get_username(), role=role, was=row.role)
        row.role = role
        row.save(update_fields=["role"])
        revoked(team.pk)


def _invite(team: Team, email: str, role: Role, changes: Changes) -> None:
    """Invite an address, after the commit, unless it has an open invitation for this role."""
    pending = Invitation.objects.for_team(team).filter(
        email=email, role=role, accepted_at=None, revoked_at=None, expires_at__gt=clock.now()
    )
    if not pending.exists():
        changes.made(f"{team.slug} member {email}", f"invited as {role.value}")
        changes.afterwards.append(lambda: invitations.send(team, email, role, by=BY))
