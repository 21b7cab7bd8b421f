"""Views of the runs list that a person saved for themselves or for the team."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q

from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.offboarding import Ended, Leaving
from agui_host.teams.tenancy import TeamQuerySet
from runs.models import SavedView

MOST = 100
"""Views of one person, and of a team."""


class ViewsFull(Conflict):
    """There are 100 views already; remove one first."""

    code = "views_full"


class ViewNameTaken(Conflict):
    """Another view has this name."""

    code = "view_name_taken"


def visible(principal: Principal) -> TeamQuerySet[SavedView]:
    """The team's views and the principal's own. Raises Forbidden."""
    principal.require("view_team")
    rows = SavedView.objects.for_team(principal.team)
    return rows.filter(Q(shared=True) | Q(creator=principal.actor_id))


def find(principal: Principal, view_id: UUID) -> SavedView:
    """One of them. Raises NotFound, Forbidden."""
    row = visible(principal).filter(pk=view_id).first()
    if row is None:
        raise NotFound("There is no such view.")
    return row


def may_change(principal: Principal, view: SavedView) -> bool:
    """Whether ``change`` and ``remove`` would do it: for its author, or with ``manage_views``."""
    return view.creator == principal.actor_id or principal.can("manage_views")


def create(principal: Principal, values: Mapping[str, Any]) -> SavedView:
    """Save ``name``, ``query`` and ``shared``. One for the whole team takes the action ``run``.

    Raises Forbidden, Invalid, ViewsFull, ViewNameTaken.
    """
    with members.holding(principal) as now:
        now.require("run" if values.get("shared") else "view_team")
        row = SavedView(team=now.team, created_by=principal.label, creator=principal.actor_id)
        _save(row, values)
        _record(principal, row, "view.created")
    row.refresh_from_db(fields=["created_at"])
    return row


def change(principal: Principal, view_id: UUID, values: Mapping[str, Any]) -> SavedView:
    """Set what ``values`` name. Raises as ``create``, and NotFound."""
    with members.holding(principal) as now:
        row = _to_change(now, view_id)
        if values.get("shared") and not row.shared:
            now.require("run")
        _record(principal, row, "view.changed", shared_now=values.get("shared", row.shared))
        _save(row, values)
    return row


def remove(principal: Principal, view_id: UUID) -> None:
    """Delete a view. Raises NotFound, Forbidden."""
    with members.holding(principal) as now:
        row = _to_change(now, view_id)
        _record(principal, row, "view.deleted")
        row.delete()


def withdraw(leaving: Leaving) -> Ended:
    """Delete the views that only a leaver, or one of their keys, has."""
    rows = SavedView.objects.for_team(leaving.team)
    rows.filter(creator__in=leaving.actors, shared=False).delete()
    return Ended()


def _to_change(principal: Principal, view_id: UUID) -> SavedView:
    row = find(principal, view_id)
    if not may_change(principal, row):
        principal.require("manage_views")
    return row


def _save(row: SavedView, values: Mapping[str, Any]) -> None:
    """The team's row is locked, so the values read here stay true."""
    for field in ("name", "query", "shared"):
        setattr(row, field, values.get(field, getattr(row, field)))
    for field in ("name", "query"):
        if not getattr(row, field).isprintable():
            raise Invalid(f"The {field} contains a control character.", details={"path": field})
    whose = {"shared": True} if row.shared else {"shared": False, "creator": row.creator}
    others = SavedView.objects.for_team(row.team).filter(**whose).exclude(pk=row.pk)
    if others.filter(name=row.name).exists():
        raise ViewNameTaken
    if others.count() >= MOST:
        raise ViewsFull
    row.save()


def _record(principal: Principal, row: SavedView, action: str, **details: Any) -> None:
    # What only its author sees is no act in the team.
    if row.shared or details.get("shared_now"):
        audit.record(principal, row.team, action, str(row.pk))
