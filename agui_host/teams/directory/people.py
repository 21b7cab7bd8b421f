"""People whom a team's directory provisions by SCIM: made, changed, deactivated, removed.

A directory speaks for people of the team's domains only (``TeamDomain``), also about their
accounts: deactivating one of them ends all access to this host. Operators are never among them.
"""

from dataclasses import dataclass
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.utils import generate_unique_username
from django.contrib.auth.models import User
from django.db.models import QuerySet

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.accounts import sessions
from agui_host.teams.authentication import Principal
from agui_host.teams.directory import memberships
from agui_host.teams.models import GroupRule, Membership, Origin, Role, ScimUser, Team, TeamDomain
from agui_host.teams.permissions import reaches
from agui_host.teams.tenancy import TeamQuerySet

MOST_PEOPLE = 50_000


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
        if user.is_staff:
            raise OtherDomain("Operators of this host are not managed by a directory.")
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
        memberships.settle(row.team, row.user, _role(row), Origin.SCIM, by)
        return
    memberships.settle(row.team, row.user, None, Origin.SCIM, by)
    if not _speaks_for(row):
        return
    accounts = User.objects.filter(pk=row.user_id, is_active=True, is_staff=False)
    if accounts.update(is_active=False):
        row.closed_account = True
        row.save(update_fields=["closed_account"])
        sessions.end_others(row.user, None)
        audit.record(by, row.team, "account.closed", row.user.get_username())
    mine = Membership.objects.of_one_person().filter(user=row.user_id).select_related("team")
    for membership in mine:
        members.left(membership.team, row.user, by)


def _role(row: ScimUser) -> Role:
    """The highest role of their groups, else the role of their domain."""
    names = row.groups.values_list("group__display_name", flat=True)
    rules = GroupRule.objects.for_team(row.team).filter(group__in=list(names))
    best: Role | None = None
    for rule in rules:
        if best is None or reaches(rule.role, best):
            best = Role(rule.role)
    if best is not None:
        return best
    domains = (_domain(row.team, email) for email in _emails(row))
    domain = next(filter(None, domains), None)
    return Role(domain.role) if domain else Role.VIEWER


def _speaks_for(row: ScimUser) -> bool:
    """Whether the directory made the account, or one of its addresses is of the team's domains."""
    return row.made_account or any(_domain(row.team, email) for email in _emails(row))


def _emails(row: ScimUser) -> list[str]:
    return list(_addresses(row).values_list("email", flat=True))


def _addresses(row: ScimUser) -> QuerySet[EmailAddress]:
    rows: QuerySet[EmailAddress] = EmailAddress.objects.filter(user=row.user_id, verified=True)
    return rows.order_by("-primary", "pk")


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
