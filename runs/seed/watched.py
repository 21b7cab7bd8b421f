"""Budgets, alerts and a data set with a trial over the seeded runs, as Sue made them."""

from datetime import timedelta
from uuid import uuid4

from agui_host.backends.postgres import clock
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
from runs.models import (
    Alert,
    AlertState,
    Budget,
    DataSet,
    DataSetRun,
    Measure,
    Period,
    Run,
    RunLabel,
    Trial,
    TrialRun,
    Unit,
    Way,
)
from runs.seed.nasty import HEBREW, WIDE
from runs.seed.said import AUTHOR, WRITER


def watch(team: Team, runs: list[Run]) -> None:
    """Add them; a second call adds to the same data set, and no budgets and alerts."""
    if not Budget.objects.for_team(team).filter(created_by=AUTHOR).exists():
        _budgets(team)
        _alerts(team)
    name = f"{HEBREW} {WIDE}"[:120]
    row, _ = DataSet.objects.get_or_create(
        team=team, name=name, defaults={"created_by": AUTHOR, "creator": WRITER}
    )
    DataSetRun.objects.bulk_create(DataSetRun(team=team, data_set=row, run=run) for run in runs)
    RunLabel.objects.bulk_create(
        RunLabel(team=team, run=run, name=label, author=AUTHOR)
        for run, label in zip(runs, ("good", "bad", WIDE[:40], "refund"), strict=False)
    )
    trial = Trial.objects.create(team=team, data_set=row, agent="writer", created_by=AUTHOR)
    again, lost, waiting = runs[-1], runs[1], runs[2]
    TrialRun.objects.bulk_create(
        [
            TrialRun(team=team, trial=trial, run=runs[0], again=again),
            TrialRun(team=team, trial=trial, run=lost, problem="The input of this run was purged."),
            TrialRun(team=team, trial=trial, run=waiting),
        ]
    )


def _budgets(team: Team) -> None:
    whole, agents, day = str(team.pk), ("writer", WIDE[:64]), Period.DAY
    keys = dict(Agent.objects.for_team(team).filter(slug=agents[0]).values_list("slug", "pk"))
    Budget.objects.bulk_create(
        Budget(team=team, scope=scope, of=of, unit=unit,
               key=str(keys.get(of, uuid4())) if of else whole, max=most, used=used,
               period=period, created_by=AUTHOR)
        for scope, of, unit, most, used, period in (
            ("team", "", Unit.COST, 40, 12.4, Period.MONTH),
            ("agent", agents[0], Unit.COST, 5, "4.6", day),
            ("agent", agents[1], Unit.TOKENS, 1_000_000, 1_000_000, day),
        )
    )  # fmt: skip


def _alerts(team: Team) -> None:
    now = clock.now()
    Alert.objects.bulk_create(
        Alert(team=team, name=name, measure=measure, threshold=threshold, window_hours=24,
              agent=agent, tell=list(Way.values), created_by=AUTHOR, value=value, enabled=enabled,
              checked_at=now, fired_at=now - timedelta(hours=3) if value else None,
              state=AlertState.FIRING if value else AlertState.OK)
        for name, measure, threshold, agent, value, enabled in (
            (f"{HEBREW} {WIDE}"[:120], Measure.FAILED_RUNS, 1, "", 3.0, True),
            ("Slow answers", Measure.P95_DURATION, 60, "writer", None, True),
            ("Nightly cost", Measure.COST, 12.5, "", None, False),
        )
    )  # fmt: skip
