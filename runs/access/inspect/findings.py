"""The findings of a run for the caller: which of its agent's events the host had to mend."""

from typing import TypedDict

from agui_host.protocol.intake.findings import MEANINGS
from events.models import Finding
from runs.models import Run

MOST = 1_000


class Row(TypedDict):
    """A finding, and what its action means."""

    seq: int
    rule: str
    action: str
    times: int
    text: str


def of(run: Run, limit: int = MOST) -> list[Row]:
    """The first findings of a run that the caller may view, in the order of the log."""
    rows = Finding.objects.filter(journal=run.pk).order_by("seq", "pk")[:limit]
    return [
        Row(
            seq=row.seq,
            rule=row.rule,
            action=row.action,
            times=row.times,
            text=MEANINGS.get(row.action, ""),
        )
        for row in rows
    ]
