"""Groups that a team's directory provisions by SCIM; rules for their names give roles."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.directory import people
from agui_host.teams.models import ScimGroup, ScimGroupMember
from agui_host.teams.tenancy import TeamQuerySet

MOST_GROUPS = 5_000


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its directory describes it; ``people`` are ids of its users."""

    display_name: str
    external_id: str
    people: frozenset[UUID]


def visible(principal: Principal) -> TeamQuerySet[ScimGroup]:
    """The groups that the directory has. Raises Forbidden."""
    principal.require("provision")
    return ScimGroup.objects.for_team(principal.team).order_by("id")


def find(principal: Principal, key: UUID) -> ScimGroup:
    """One of them. Raises NotFound."""
    row: ScimGroup | None = visible(principal).filter(pk=key).first()
    if row is None:
        raise NotFound("There is no such group.")
    return row


@scope.everywhere()
def create(principal: Principal, group: Group) -> ScimGroup:
    """A new group; its people get the role of its rule at once. Raises Taken, Invalid."""
    with members.holding(principal) as now:
        _require_free(visible(now), group)
        if visible(now).count() >= MOST_GROUPS:
            raise Conflict(f"A directory has at most {MOST_GROUPS:,} groups.")
        row = ScimGroup(id=clock.new_id(), team=now.team)
        audit.record(principal, now.team, "scim_group.created", group.display_name)
        _store(now, row, group)
        return row


@scope.everywhere()
def change(principal: Principal, key: UUID, group: Group) -> ScimGroup:
    """Make the group so. Raises NotFound, Taken, Invalid."""
    with members.holding(principal) as now:
        row = find(now, key)
        _require_free(visible(now).exclude(pk=key), group)
        _store(now, row, group)
        return row


@scope.everywhere()
def remove(principal: Principal, key: UUID) -> None:
    """Remove a group; its people lose its role. Raises NotFound."""
    with members.holding(principal) as now:
        row = find(now, key)
        former = set(row.members.values_list("person", flat=True))
        row.delete()
        audit.record(principal, now.team, "scim_group.deleted", row.display_name)
        _settle(now, former)


def _require_free(others: TeamQuerySet[ScimGroup], group: Group) -> None:
    if others.filter(display_name__iexact=group.display_name).exists():
        raise people.Taken


def _store(principal: Principal, row: ScimGroup, group: Group) -> None:
    is_renamed = row.display_name != group.display_name
    row.display_name, row.external_id = group.display_name, group.external_id
    row.changed_at = clock.now()
    row.save()
    before = set(row.members.values_list("person", flat=True))
    present = people.visible(principal).filter(pk__in=group.people)
    after = set(present.values_list("pk", flat=True))
    if after != group.people:
        raise Invalid("A member of the group is no user of this directory.")
    row.members.filter(person__in=before - after).delete()
    ScimGroupMember.objects.bulk_create(
        ScimGroupMember(team=row.team, group=row, person_id=key) for key in after - before
    )
    _settle(principal, before | after if is_renamed else before ^ after)


def _settle(principal: Principal, keys: Collection[UUID]) -> None:
    people.settle_roles(list(people.visible(principal).filter(pk__in=keys, active=True)), principal)
