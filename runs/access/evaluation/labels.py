"""Labels on runs: of everyone who sees a run, set by members who may comment on it."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import connection, transaction

from agui_host.protocol.errors import Invalid
from agui_host.teams import audit
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.models import Run, RunLabel
from runs.models.evaluation.label import LONGEST_LABEL

GOOD, BAD = "good", "bad"
VERDICTS = (GOOD, BAD)
LOCK = "select pg_advisory_xact_lock(hashtextextended('agui.labels.' || %s, 0))"
MOST = 20
"""Labels of a run."""


def of(principal: Principal, run_id: UUID) -> list[RunLabel]:
    """The labels of a run, by name. Raises NotFound, Forbidden."""
    run = access.find(principal, run_id)
    return list(RunLabel.objects.for_team(run.team).filter(run=run).order_by("name"))


def replace(principal: Principal, run_id: UUID, names: Sequence[str]) -> list[RunLabel]:
    """Make these the labels of a run. Raises NotFound, Forbidden, Invalid."""
    run = access.find(principal, run_id, "comment")
    target = {_checked(name) for name in names}
    if set(VERDICTS) <= target:
        raise Invalid("A run is good or bad.", details={"path": "labels"})
    if len(target) > MOST:
        raise Invalid(f"A run has at most {MOST} labels.", details={"path": "labels"})
    with transaction.atomic():
        # Of two replacements at once, the second begins with the labels of the first. The run's own
        # row is not locked, since the writer of its events would wait for it.
        with connection.cursor() as cursor:
            cursor.execute(LOCK, [str(run.pk)])
        rows = RunLabel.objects.for_team(run.team).filter(run=run)
        stored = set(rows.values_list("name", flat=True))
        rows.exclude(name__in=target).delete()
        RunLabel.objects.bulk_create(
            RunLabel(team=run.team, run=run, name=name, author=principal.label)
            for name in sorted(target - stored)
        )
        if stored != target:
            audit.record(principal, run.team, "run.labelled", str(run.pk))
    return of(principal, run_id)


def add(principal: Principal, run_id: UUID, name: str) -> None:
    """Add a label; ``good`` and ``bad`` replace each other. Raises as ``replace``."""
    names = {row.name for row in of(principal, run_id)}
    replace(principal, run_id, [*(names - set(VERDICTS) if name in VERDICTS else names), name])


def remove(principal: Principal, run_id: UUID, name: str) -> None:
    """Take a label off. Raises NotFound, Forbidden."""
    replace(principal, run_id, [row.name for row in of(principal, run_id) if row.name != name])


def by_run(runs: Iterable[Run]) -> dict[UUID, list[str]]:
    """The names of the labels of these runs, which the caller has found."""
    named: dict[UUID, list[str]] = {run.pk: [] for run in runs}
    rows = RunLabel.objects.already_found().filter(run__in=list(named)).order_by("name")
    for key, name in rows.values_list("run_id", "name"):
        named[key].append(name)
    return named


def _checked(name: str) -> str:
    text = name.strip()
    if not 0 < len(text) <= LONGEST_LABEL or not text.isprintable():
        raise Invalid(
            f"A label has 1 to {LONGEST_LABEL} printable characters.", details={"path": "labels"}
        )
    return text
