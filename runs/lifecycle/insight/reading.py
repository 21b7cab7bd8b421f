"""Reading the tool calls of a run out of its log, and finding the run with the same question."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from agui_host.protocol.fold.calls import FEEDS, Calls
from agui_host.protocol.patient_json import loads
from events import outlines
from events.sealed import reading
from runs.lifecycle.insight.fingerprint import READ
from runs.lifecycle.words.contents import MOST_BYTES
from runs.models import Status

MOST_EVENTS = 200_000
"""Events of a log that are read."""
FARTHEST = 20
"""Runs between a run and the first one with the same question."""
# An input of many bytes holds files, and is not read.
_ROWS = """
select run.journal_id, run.team_id, run.thread_id, run.agent_id, run.repeats_id, run.status,
       run.error_code, left(run.error_message, %s), run.tool_calls, run.ended_at, journal.head,
       case when agui_whole_size(run.input) <= %s then agui_whole(run.input) else '{}' end,
       coalesce(failure.fingerprint, '')
  from runs_run run join events_journal journal on journal.id = run.journal_id
  left join runs_failure failure on failure.run_id = run.journal_id
 where run.journal_id = any (%s) and run.purged_at is null and run.ended_at is not null
"""
_PREVIOUS = """
select journal_id from runs_run
 where thread_id = %s and journal_id < %s and parent_id is null order by journal_id desc limit 1
"""
_ROOT = "select root from runs_toolcall where run_id = %s limit 1"


class RunRow(NamedTuple):
    """A run that has ended, with the beginning of its error and its input.

    ``raised`` is the fingerprint of the agent's exception, empty without one.
    """

    id: UUID
    team: UUID
    thread: UUID
    agent: UUID
    repeats: UUID | None
    status: str
    code: str
    error: str
    tool_calls: int | None
    ended_at: datetime
    head: int
    input: str
    raised: str

    @property
    def has_failed(self) -> bool:
        return self.status == Status.FAILED


class Read(NamedTuple):
    """An ended run, its calls, and the first run that was asked the same."""

    run: RunRow
    calls: Calls
    root: UUID


def rows_of(run_ids: list[UUID]) -> dict[UUID, RunRow]:
    """Those of these runs that have ended and are not purged."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [READ, MOST_BYTES, run_ids])
        rows = [RunRow(*row) for row in cursor.fetchall()]
    return {row.id: row for row in rows}


def read(run: RunRow) -> Read:
    """The calls of a run, which may be many."""
    calls = Calls()
    if run.tool_calls != 0:
        _feed(run.id, min(run.head, MOST_EVENTS), calls)
    return Read(run, calls, _root(run) if calls.calls else run.id)


def moment(at: Any, otherwise: datetime) -> datetime:
    """The time of an event, in which an agent can write any number."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return otherwise


def _feed(run_id: UUID, head: int, calls: Calls) -> None:
    after = 0
    while after < head:
        until = min(after + outlines.STEP_EVENTS, head)
        rows = reading.rows(run_id, after, until, outlines.STEP_BYTES, FEEDS)
        for seq, _, payload in rows:
            calls.feed(seq, loads(payload))
        size = sum(len(payload.encode()) for _, _, payload in rows)
        after = rows[-1][0] if size >= outlines.STEP_BYTES else until


def _root(run: RunRow) -> UUID:
    """The first run with the same question; each step back is a repeated run or another try."""
    for _ in range(FARTHEST):
        before = run.repeats or (_previous(run) if _asks_again(run) else None)
        if before is None:
            return run.id
        with connection.cursor() as cursor:
            cursor.execute(_ROOT, [before])
            stored = cursor.fetchone()
        if stored is not None:
            root: UUID = stored[0]
            return root
        earlier = rows_of([before]).get(before)
        if earlier is None:
            return before
        run = earlier
    return run.id


def _previous(run: RunRow) -> UUID | None:
    with connection.cursor() as cursor:
        cursor.execute(_PREVIOUS, [run.thread, run.id])
        row = cursor.fetchone()
    return None if row is None else row[0]


def _asks_again(run: RunRow) -> bool:
    """Whether an input asks for another answer: it says so, or brings nothing new."""
    body = loads(run.input)
    props = body.get("forwardedProps")
    if isinstance(props, Mapping) and props.get("regenerate") is True:
        return True
    messages = body.get("messages")
    if body.get("resume") or not messages or messages[-1].get("role") != "user":
        return False
    first = reading.rows(run.id, 0, 1, MOST_BYTES, ["RUN_STARTED"])
    echoed = loads(first[0][2]).get("input") if first else None
    return echoed is not None and not echoed.get("messages")
