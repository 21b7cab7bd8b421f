"""The beginning of an attempt that continues a run, read from the run's log."""

from collections.abc import Iterator
from typing import Any

from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Record
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake.fed import FedIntake
from agui_host.teams.limits import limits_of
from events import journal
from runs.lifecycle import history
from runs.lifecycle.history import Prepared
from runs.lifecycle.ingest import intakes
from runs.models import Run

Event = dict[str, Any]


def intake(run: Run, head: int) -> FedIntake:
    """The intake of a run at the ``head`` of its log."""
    prepared = history.prepare(run, history.measured(run.thread_id))
    restored, _ = of_log(run, prepared, head)
    return restored


def of_log(run: Run, prepared: Prepared, head: int) -> tuple[FedIntake, Fold]:
    """The intake at the ``head`` of the log, and the fold of the run's events alone."""
    restored = intakes.new(FedIntake, run, limits_of(run.team), prepared.echo, prepared.history)
    fold = Fold()
    for page in _pages(run, head):
        restored.replay(page)
        events = [patient_json.loads(payload) for payload in page]
        for event in events:
            fold.feed(event)
        if restored.tally is not None:
            records = [_record(*pair) for pair in zip(events, page, strict=True)]
            restored.tally.take(records, events)
    restored.replicas.work = 0
    return restored, fold


def _pages(run: Run, head: int) -> Iterator[list[str]]:
    after = 0
    while after < head:
        rows = journal.read_after(run.pk, after, min(500, head - after)).rows
        yield [payload for _, _, payload in rows]
        after = rows[-1][0]


def _record(event: Event, payload: str) -> Record:
    # The host has stamped each event when it was stored, unless its agent did.
    return Record(event["type"], payload.encode(), event.get("timestamp", 0) / 1000)
