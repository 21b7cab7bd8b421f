"""Trials: the runs of a data set again, with an agent or a version of it, and the comparison."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q

from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.protocol.errors import HostError
from agui_host.runtimes.models import Agent
from agui_host.teams import audit
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import LimitReached
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access, again
from runs.access.evaluation import data_sets, former
from runs.access.start import UnknownAgent
from runs.models import DataSet, Run, Trial, TrialRun, without_bodies

MOST_TRIALS = 50
"""Of a data set; the oldest one makes room."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A run of the data set and its repetition, as far as the caller sees them."""

    before: Run
    after: Run | None
    problem: str

    @property
    def differs(self) -> bool:
        """Whether the repetition ended otherwise, or with another answer."""
        after = self.after
        return after is not None and (
            self.before.status != after.status
            or (self.before.answered or "") != (after.answered or "")
        )


def of(principal: Principal, data_set: DataSet) -> TeamQuerySet[Any]:
    """The trials of a data set that the caller has found, newest first, with ``waiting``."""
    return _counted(Trial.objects.for_team(data_set.team).filter(data_set=data_set))


def find(principal: Principal, key: UUID) -> Trial:
    """A trial of the team, with ``waiting``. Raises NotFound, Forbidden."""
    principal.require("view_team")
    rows = _counted(Trial.objects.for_team(principal.team).filter(pk=key))
    row: Trial | None = rows.select_related("data_set").first()
    if row is None:
        raise NotFound("There is no such trial.")
    return row


class VersionGone(Conflict):
    """This version of the agent cannot run again."""

    code = "version_gone"


def start(principal: Principal, key: UUID, agent: str, version: str = "") -> Trial:
    """Run a data set again with an agent, as it is now or in a former version.

    Who changes agents chooses a former version: its address may have been left for a reason.
    Raises NotFound, Forbidden, UnknownAgent, VersionGone.
    """
    data_set = data_sets.find(principal, key)
    principal.require("view_team")
    principal.require("run")
    if not principal.may_use(agent):
        raise Forbidden("This key is for other agents.")
    row = Agent.objects.for_team(data_set.team).filter(slug=agent, enabled=True).first()
    if row is None:
        raise UnknownAgent
    former_version = "" if version == row.version else version
    if former_version:
        principal.require("manage_agents")
        if reason := former.problem_of(row, former_version):
            raise VersionGone(f"Version {version[:16]} cannot run. {reason}")
    runs = list(data_sets.runs_of(principal, data_set).values_list("pk", flat=True))
    with transaction.atomic():
        trial = Trial(
            team=data_set.team, data_set=data_set, agent=agent, version=former_version,
            created_by=principal.label,
        )  # fmt: skip
        trial.save(force_insert=True)
        TrialRun.objects.bulk_create(
            TrialRun(team=trial.team, trial=trial, run_id=run_id) for run_id in runs
        )
        trials = Trial.objects.for_team(trial.team).filter(data_set=data_set)
        old = trials.order_by("-pk").values_list("pk", flat=True)[MOST_TRIALS:]
        trials.filter(pk__in=list(old)).delete()
        audit.record(
            principal, trial.team, "trial.started", str(trial.pk), agent=agent,
            version=former_version or row.version,
        )  # fmt: skip
    return go_on(principal, trial.pk)


def go_on(principal: Principal, key: UUID) -> Trial:
    """Start the runs of a trial that have not been started, until a limit of the team is reached.

    Raises NotFound, Forbidden.
    """
    row = find(principal, key)
    principal.require("view_team")
    principal.require("run")
    entries = TrialRun.objects.for_team(row.team).filter(trial=row, again=None, problem="")
    for pk in list(entries.order_by("run_id").values_list("pk", flat=True)):
        with transaction.atomic():
            # Two requests at once: each entry is started by the first to lock it.
            entry = entries.select_for_update(skip_locked=True, of=("self",)).filter(pk=pk).first()
            if entry is None:
                continue
            try:
                with transaction.atomic():
                    entry.again = _again(principal, entry.run_id, row)
            except LimitReached:
                break
            except HostError as error:
                entry.problem = error.code
            entry.save(update_fields=["again", "problem"])
    return find(principal, key)


def pairs(principal: Principal, row: Trial) -> list[Pair]:
    """The runs of a trial that the caller sees, side by side."""
    entries = list(TrialRun.objects.for_team(row.team).filter(trial=row).order_by("run_id"))
    keys = [key for entry in entries for key in (entry.run_id, entry.again_id) if key]
    runs = access.visible(principal).filter(pk__in=keys, purged_at=None)
    by_key = {
        run.pk: run for run in without_bodies(runs.select_related("agent", "thread", "journal"))
    }
    return [
        Pair(by_key[entry.run_id], by_key.get(entry.again_id), entry.problem)
        for entry in entries
        if entry.run_id in by_key
    ]


def _counted(rows: TeamQuerySet[Trial]) -> TeamQuerySet[Any]:
    """With ``waiting``: how many runs of each trial have not been started."""
    not_started = Q(entries__again=None, entries__problem="")
    return rows.annotate(waiting=Count("entries", filter=not_started))


def _again(principal: Principal, run_id: UUID, trial: Trial) -> Run:
    run = access.find(principal, run_id)
    new = again.changed(principal, run_id, agent=trial.agent, text=again.last_said(run))
    if trial.version:
        # In the transaction of its start: no worker has seen it.
        Run.objects.for_team(trial.team).filter(pk=new.pk).update(wanted_version=trial.version)
    return new
