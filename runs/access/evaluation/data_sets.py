"""A team's data sets: chosen runs of threads that the whole team sees."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access
from runs.access.evaluation.labels import VERDICTS
from runs.models import ENDED, DataSet, DataSetRun, Run, RunLabel, Visibility, without_bodies

MOST_SETS = 100
MOST_RUNS = 200
"""Runs of a data set: all of them are exported, run again and compared at once."""


class DataSetsFull(Conflict):
    """The team has as many data sets as this host allows; remove one first."""

    code = "data_sets_full"


class DataSetFull(Conflict):
    """A data set has at most 200 runs; take some out, or make another one."""

    code = "data_set_full"


class DataSetNameTaken(Conflict):
    """Another data set has this name."""

    code = "data_set_name_taken"


def visible(principal: Principal) -> TeamQuerySet[DataSet]:
    """The team's data sets. Raises Forbidden."""
    principal.require("view_team")
    rows: TeamQuerySet[DataSet] = DataSet.objects.for_team(principal.team)
    return rows


def find(principal: Principal, key: UUID) -> DataSet:
    """One of them. Raises NotFound, Forbidden."""
    if (row := visible(principal).filter(pk=key).first()) is None:
        raise NotFound("There is no such data set.")
    return row


def runs_of(principal: Principal, row: DataSet, *, to_review: bool = False) -> QuerySet[Run]:
    """The runs of a data set that the caller sees; ``to_review``: those without a verdict."""
    entries = DataSetRun.objects.for_team(row.team).filter(data_set=row)
    runs = access.visible(principal).filter(
        pk__in=entries.values("run"), team=row.team, purged_at=None
    )
    if to_review:
        judged = RunLabel.objects.for_team(row.team).filter(name__in=VERDICTS)
        runs = runs.exclude(pk__in=judged.values("run"))
    return without_bodies(runs.select_related("agent", "thread", "journal")).order_by("-pk")


def create(principal: Principal, name: str, keys: Sequence[UUID] = ()) -> DataSet:
    """A new data set, of these runs. Raises Forbidden, Invalid, Conflict."""
    if not name.strip() or not name.isprintable():
        raise Invalid("Write a name.", details={"path": "name"})
    with members.holding(principal) as current:
        current.require("view_team")
        current.require("comment")
        rows = DataSet.objects.for_team(current.team)
        if rows.count() >= MOST_SETS:
            raise DataSetsFull(details={"max": MOST_SETS})
        if rows.filter(name=name.strip()).exists():
            raise DataSetNameTaken
        row = DataSet(
            team=current.team, name=name.strip(), created_by=principal.label,
            creator=principal.actor_id,
        )  # fmt: skip
        row.save(force_insert=True)
        _add(current, row, keys)
        audit.record(principal, current.team, "data_set.created", str(row.pk), runs=len(set(keys)))
    row.refresh_from_db()
    return row


def add(principal: Principal, key: UUID, keys: Sequence[UUID]) -> int:
    """Add these runs; how many are new. Raises NotFound, Forbidden, Invalid, DataSetFull."""
    find(principal, key)
    with members.holding(principal) as current:
        current.require("view_team")
        current.require("comment")
        return _add(current, find(current, key), keys)


def newest(
    principal: Principal,
    *,
    agent: str = "",
    label: str = "",
    most: int = 20,
    among: QuerySet[Run, Any] | None = None,
) -> list[UUID]:
    """The newest ended runs that a data set can have, of an agent and with a label.

    ``among``: a bounded number of ids.
    """
    runs = _addable(principal)
    if among is not None:
        runs = runs.filter(pk__in=among)
    if agent:
        runs = runs.filter(agent__slug=agent)
    if label:
        labelled = RunLabel.objects.for_team(principal.team).filter(name=label)
        runs = runs.filter(pk__in=labelled.values("run"))
    return list(runs.order_by("-pk").values_list("pk", flat=True)[:most])


def take_out(principal: Principal, key: UUID, run_id: UUID) -> None:
    """Take a run out of a data set. Raises NotFound, Forbidden."""
    row = find(principal, key)
    principal.require("view_team")
    principal.require("comment")
    entries = DataSetRun.objects.for_team(row.team).filter(data_set=row, run=run_id)
    if not runs_of(principal, row).filter(pk=run_id).exists() or not entries.delete()[0]:
        raise NotFound("This run is not in the data set.")


def remove(principal: Principal, key: UUID) -> None:
    """Delete a data set with its trials; runs stay. Raises NotFound, Forbidden."""
    with members.holding(principal) as current:
        row = find(current, key)
        if row.creator != principal.actor_id:
            current.require("view_team")
            current.require("manage_agents")
        row.delete()
        audit.record(principal, current.team, "data_set.deleted", str(key))


def _addable(principal: Principal) -> QuerySet[Run]:
    return access.visible(principal).filter(
        team=principal.team, thread__visibility=Visibility.TEAM, status__in=ENDED, purged_at=None,
        parent=None,
    )  # fmt: skip


def _add(principal: Principal, row: DataSet, keys: Sequence[UUID]) -> int:
    """The team's row is locked, so no other request adds runs meanwhile."""
    chosen = set(keys)
    addable = set(_addable(principal).filter(pk__in=chosen).values_list("pk", flat=True))
    if chosen - addable:
        raise Invalid(
            "Only ended runs of threads that the whole team sees can be in a data set.",
            details={"path": "runs", "runs": sorted(map(str, chosen - addable))[:10]},
        )
    entries = DataSetRun.objects.for_team(row.team).filter(data_set=row)
    new_keys = addable - set(entries.filter(run__in=addable).values_list("run", flat=True))
    if entries.count() + len(new_keys) > MOST_RUNS:
        raise DataSetFull(details={"max": MOST_RUNS})
    DataSetRun.objects.bulk_create(
        DataSetRun(team=row.team, data_set=row, run_id=key) for key in sorted(new_keys)
    )
    return len(new_keys)
