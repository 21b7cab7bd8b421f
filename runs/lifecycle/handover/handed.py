"""A run that its start has claimed for a worker, as the line that the web process sends there."""

import json
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from agui_host.backends import metrics
from agui_host.backends.apart import SMALL
from agui_host.protocol.strict_json import dumps
from runs.lifecycle.handover import links
from runs.lifecycle.statements import claims
from runs.lifecycle.statements.claims import Claimed
from runs.models import Run

GENERATION = 1
"""Of the claim with which ``agui_start_handed`` and ``agui_place_handed`` begin a journal."""
MOST_INPUT = SMALL // 2
"""Characters of an input whose line the worker can read on its event loop: quoted, it is longer."""
IDS = ("run", "team", "thread", "agent")


class Handed(NamedTuple):
    """A line that was read.

    It has the columns of a row of ``agui_take_due_runs``, and the worker; of a run in a thread with
    a history only its ids, since its worker reads the rest with the history.
    """

    row: dict[str, Any]

    @property
    def is_whole(self) -> bool:
        """Whether the line has all that its executor needs, once agent and team are known."""
        return "input" in self.row

    @property
    def run(self) -> UUID:
        """The run's id."""
        return UUID(self.row["run"])

    @property
    def team(self) -> UUID:
        """The id of its team."""
        return UUID(self.row["team"])


def credit(characters: int = 0) -> links.Credit | None:
    """Of a worker that a start can hand its run to, after a commit of its own.

    ``characters``: how long the input is, if its line will have it.
    """
    if connection.in_atomic_block or characters > MOST_INPUT:
        return None
    return links.links().credit()


def hand(credit_: links.Credit | None, text: bytes) -> None:
    """Hand a run over that was claimed for the worker of this credit, and is committed.

    If this process dies first, or the link, the worker finds the run.
    """
    if credit_ is not None:
        credit_.hand(text)
        metrics.handed_starts.inc()


def line(run: Run, agent_version: str, team_version: str) -> bytes:
    """The line for a run that was claimed for its worker; the versions are of rows it refers to."""
    row = {
        "run": run.pk,
        "team": run.team_id,
        "traceparent": run.traceparent,
        "generation": GENERATION,
        "thread": run.thread_id,
        "agent": run.agent_id,
        "run_name": run.run_id,
        "parent_name": run.parent_run_id,
        "version": run.protocol_version,
        "run_attempt": run.attempt,
        "run_tries": run.tries,
        "repeats": None,
        "input": run.input,
        "context": None,
        "started_by": run.started_by,
        "starter": run.starter,
        "created_at": run.created_at.isoformat(),
        "thread_name": run.thread.thread_id,
        "created_by": run.thread.created_by,
        "creator": run.thread.creator,
        "visibility": run.thread.visibility,
        "agent_version": agent_version,
        "team_version": team_version,
        "worker": run.worker,
    }
    return dumps(row | {name: str(row[name]) for name in IDS}).encode()


def short_line(run: Run) -> bytes:
    """The line for a run that was claimed in a thread with a history."""
    row = {
        "run": str(run.pk),
        "team": str(run.team_id),
        "traceparent": run.traceparent,
        "generation": GENERATION,
    }
    return dumps(row).encode()


def read(text: bytes) -> Handed:
    """The line's run. Raises ValueError."""
    return Handed(json.loads(text))


def claimed(handed: Handed) -> Claimed | None:
    """What an executor needs of it; None if the run is no longer this worker's.

    Reads agent and team if this process does not know them, and a run that has a history.
    """
    if not handed.is_whole:
        return claims.of_thread(handed.run, handed.row["generation"])
    ids = {name: UUID(handed.row[name]) for name in IDS}
    # The claim is of the same moment: agui_start_handed makes both.
    created_at = datetime.fromisoformat(handed.row["created_at"])
    return claims.of_fresh_thread(handed.row | ids | {"created_at": created_at}, created_at)
