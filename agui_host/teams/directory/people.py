"""People whom a team's directory provisions by SCIM: made, changed, deactivated, removed.

A directory speaks for people of the team's domains only (``TeamDomain``), also about their
accounts: deactivating one of them ends all access to this host. Operators are never among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.utils import generate_unique_username
from django.contrib.auth.models import User
from django.db.models import QuerySet

from agui_host.backends import work
from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.accounts import sessions
from agui_host.teams.authentication import Principal
from agui_host.teams.directory import memberships
from agui_host.teams.models import (
    GroupRule,
    Membership,
    Origin,
    Role,
    ScimGroupMember,
    ScimUser,
    Team,
    TeamDomain,
)
from agui_host.teams.permissions import reaches
from agui_host.teams.tenancy import TeamQuerySet

MOST_PEOPLE = 50_000
SETTLING = 1_000
"""Units of work for a change of a role: some statements."""


class OtherDomain(Forbidden):
    """A directory manages people of the team's verified domains only."""

    code = "other_domain"


class Taken(Conflict):
    """The directory has a person or group of this name already."""

    code = "taken"


@dataclass(frozen=True, slots=True)
class Person:
    """A person as their directory describes them; ``email`` is theirs without further proof."""

    user_name: str
    email: str
    external_id: str = ""
    display_name: str = ""
    given_name: str = ""
    family_name: str = ""
    active: bool = True


def visible(principal: Principal) -> TeamQuerySet[ScimUser]:
    """The people that the directory has. Raises Forbidden."""
    principal.require("provision")
    rows = ScimUser.objects.for_team(principal.team).filter(deleted=False)
    return rows.select_related("user").order_by("id")


def find(principal: Principal, key: UUID) -> ScimUser:
    """One of them. Raises NotFound."""
    row: ScimUser | None = visible(principal).filter(pk=key).first()
    if row is None:
        raise NotFound("There is no such user.")
    return row


@scope.everywhere()
def create(principal: Principal, person: Person) -> ScimUser:
    """Put a person into the team, with a new account if none has the address.

    Raises OtherDomain, Taken.
    """
    with members.holding(principal) as now:
        rows = visible(now)
        _require_domain(now.team, person.email)
        if rows.filter(user_name__iexact=person.user_name).exists():
            raise Taken
        if rows.count() >= MOST_PEOPLE:
            raise Conflict(f"A directory has at most {MOST_PEOPLE:,} people.")
        address = EmailAddress.objects.filter(email__iexact=person.email, verified=True).first()
        user = address.user if address else _account(person)
        _require_no_operator(user)
        row = ScimUser.objects.for_team(now.team).filter(user=user).first()
        if row is None:
            row = ScimUser(id=clock.new_id(), team=now.team, user=user, made_account=not address)
        elif not row.deleted:
            raise Taken
        row.deleted = False
        audit.record(principal, now.team, "scim_user.created", user.get_username())
        _store(row, person, principal)
        return row


@scope.everywhere()
def change(principal: Principal, key: UUID, person: Person) -> ScimUser:
    """Make the person so. Raises NotFound, OtherDomain, Taken."""
    with members.holding(principal) as now:
        row = find(now, key)
        _require_no_operator(row.user)
        others = visible(now).exclude(pk=key)
        if others.filter(user_name__iexact=person.user_name).exists():
            raise Taken
        if not _addresses(row).filter(email__iexact=person.email).exists():
            _change_address(row, person.email)
        _store(row, person, principal)
        return row


@scope.everywhere()
def remove(principal: Principal, key: UUID) -> None:
    """Deactivate the person and forget their attributes. Raises NotFound."""
    with members.holding(principal) as now:
        row = find(now, key)
        row.groups.all().delete()
        row.active, row.deleted = False, True
        row.user_name, row.external_id, row.display_name = f"deleted:{row.pk}", "", ""
        row.save()
        audit.record(principal, now.team, "scim_user.deleted", row.user.get_username())
        settle(row, principal)


def settle(row: ScimUser, by: Principal) -> None:
    """Give the person the role of their groups, or end their access, in the caller's transaction.

    The account of a person of the team's domains closes with it: their sessions, keys and streams
    end in every team.
    """
    if row.active:
        if row.closed_account:
            User.objects.filter(pk=row.user_id).update(is_active=True)
            row.closed_account = False
            row.save(update_fields=["closed_account"])
        settle_roles([row], by)
        return
    memberships.settle(row.team, row.user, None, Origin.SCIM, by)
    if _is_operator(row.user) or not _speaks_for(row):
        return
    if User.objects.filter(pk=row.user_id, is_active=True).update(is_active=False):
        row.closed_account = True
        row.save(update_fields=["closed_account"])
        sessions.end_others(row.user, None)
        audit.record(by, row.team, "account.closed", row.user.get_username())
    mine = Membership.objects.of_one_person().filter(user=row.user_id).select_related("team")
    for membership in mine:
        members.left(membership.team, row.user, by)


def settle_roles(rows: Sequence[ScimUser], by: Principal) -> None:
    """Give active people the roles of their groups, in the caller's transaction."""
    roles, users = _roles(by.team, rows), [row.user_id for row in rows]
    members_by_user = {
        user_id: (role, origin)
        for user_id, role, origin in Membership.objects.for_team(by.team)
        .filter(user__in=users)
        .values_list("user_id", "role", "origin")
    }
    for row in rows:
        role, origin = members_by_user.get(row.user_id, ("", Origin.SCIM))
        if origin == Origin.SCIM and role != roles[row.pk]:
            work.charge(by.team.pk, "directory", SETTLING)
            memberships.settle(by.team, row.user, roles[row.pk], Origin.SCIM, by)


def _roles(team: Team, rows: Sequence[ScimUser]) -> dict[UUID, Role]:
    """The highest role of each person's groups, else the role of their domain."""
    by_group = dict(GroupRule.objects.for_team(team).values_list("group", "role"))
    joined = ScimGroupMember.objects.for_team(team).filter(
        person__in=rows, group__display_name__in=list(by_group)
    )
    best: dict[UUID, Role] = {}
    for key, name in joined.values_list("person_id", "group__display_name"):
        role = Role(by_group[name])
        if key not in best or reaches(role, best[key]):
            best[key] = role
    domains = dict(TeamDomain.objects.for_team(team).values_list("domain", "role"))
    others = {row.user_id: row.pk for row in rows if row.pk not in best}
    emails = EmailAddress.objects.filter(user__in=list(others), verified=True)
    for user_id, email in emails.order_by("-primary", "pk").values_list("user_id", "email"):
        if (of_domain := domains.get(email.rpartition("@")[2].lower())) is not None:
            best.setdefault(others[user_id], Role(of_domain))
    return {row.pk: best.get(row.pk, Role.VIEWER) for row in rows}


def _speaks_for(row: ScimUser) -> bool:
    """Whether the directory made the account, or one of its addresses is of the team's domains."""
    emails = _addresses(row).values_list("email", flat=True)
    return row.made_account or any(_domain(row.team, email) for email in emails)


def _addresses(row: ScimUser) -> QuerySet[EmailAddress]:
    rows: QuerySet[EmailAddress] = EmailAddress.objects.filter(user=row.user_id, verified=True)
    return rows


def _store(row: ScimUser, person: Person, by: Principal) -> None:
    was_active = None if row._state.adding else row.active
    row.user_name, row.external_id = person.user_name, person.external_id
    row.display_name, row.active = person.display_name, person.active
    row.changed_at = clock.now()
    row.save()
    names = {"first_name": person.given_name, "last_name": person.family_name}
    if any(getattr(row.user, name) != value for name, value in names.items()):
        User.objects.filter(pk=row.user_id).update(**names)
    if was_active != row.active:
        settle(row, by)
    row.user.refresh_from_db()


def _account(person: Person) -> User:
    """A new account, which only the sign-in service opens: it has no password."""
    local = person.email.partition("@")[0]
    user = User(username=generate_unique_username([local, "person"]), email=person.email)
    user.set_unusable_password()
    user.save()
    EmailAddress.objects.create(user=user, email=person.email, verified=True, primary=True)
    return user


def _change_address(row: ScimUser, email: str) -> None:
    _require_domain(row.team, email)
    if not row.made_account:
        raise OtherDomain("Only the addresses of accounts that this directory made can change.")
    if EmailAddress.objects.filter(email__iexact=email, verified=True).exists():
        raise Taken
    EmailAddress.objects.filter(user=row.user).delete()
    EmailAddress.objects.create(user=row.user, email=email, verified=True, primary=True)
    User.objects.filter(pk=row.user_id).update(email=email)


def _is_operator(user: User) -> bool:
    return bool(user.is_staff or user.is_superuser)


def _require_no_operator(user: User) -> None:
    if _is_operator(user):
        raise OtherDomain("Operators of this host are not managed by a directory.")


def _require_domain(team: Team, email: str) -> None:
    if _domain(team, email) is None:
        raise OtherDomain


def _domain(team: Team, email: str) -> TeamDomain | None:
    name = email.rpartition("@")[2].lower()
    return TeamDomain.objects.for_team(team).filter(domain=name).first()


def made_for(emails: list[str]) -> User | None:
    """The account without a password that a directory made for one of these proven addresses."""
    lower = [email.lower() for email in emails]
    with scope.everywhere():
        rows = ScimUser.objects.of_one_person().filter(made_account=True, user__email__in=lower)
        users = {row.user for row in rows.select_related("user")}
    user = users.pop() if len(users) == 1 else None
    return None if user is None or user.has_usable_password() else user
