"""Reading the faces of stored runs, questions and answers, a few runs at a time.

A run gets both with its start and its end. Those that a process of an earlier release wrote, and
those whose worker was lost, have none until a worker has read them here, the newest ones first.
"""

import time
from collections.abc import Callable
from json import loads
from typing import Any
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection

from agui_host.protocol.fold.face import Answered, question_of
from agui_host.protocol.part_kinds import TEXT
from events.sealed import reading
from runs.lifecycle.words.contents import MOST_BYTES
from runs.models import ENDED, FACELESS, Run

log = structlog.get_logger(__name__)

BATCH = 100
"""Runs that one query finds."""
TAILS = (500, 10_000)
"""How many events of a log's end are read for its last text; the second if the first has none."""
REST = 3.0
"""Seconds of rest for each second of work: live runs share the processor."""
_READ = (TEXT.start, TEXT.content, "MESSAGES_SNAPSHOT")
# An input of many bytes holds files, and is not read.
INPUT = """
select case when agui_whole_size(input) <= %s then agui_whole(input) else '{}' end, status, head
  from runs_run join events_journal journal on journal.id = journal_id
 where journal_id = %s and purged_at is null
"""


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Store missing faces, for so many seconds at most; how many. The next call continues."""
    until, total = time.monotonic() + seconds, 0
    faceless = Run.objects.of_any_team().filter(FACELESS).order_by("-pk")
    while keys := list(faceless.values_list("pk", flat=True)[:BATCH]):
        for key in keys:
            if leaving() or time.monotonic() >= until:
                return total
            began = time.monotonic()
            _store(key)
            total += 1
            time.sleep(REST * (time.monotonic() - began))
    return total


def _store(run_id: UUID) -> None:
    """Store a run's face; an empty one if its input or log cannot be read."""
    try:
        face = _read(run_id)
    except (OperationalError, InterfaceError):
        raise  # That is no fault of this run.
    except Exception:
        log.exception("faces.not_read", run=str(run_id))
        face = {"asked": "", "answered": ""}
    # A purge that came first leaves the row without a face, and this without effect.
    Run.objects.already_found().filter(pk=run_id, purged_at=None).update(**face)


def _read(run_id: UUID) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(INPUT, [MOST_BYTES, run_id])
        row = cursor.fetchone()
    if row is None:
        return {"asked": ""}
    request, status, head = row
    face = {"asked": question_of(loads(request).get("messages"))}
    return face | {"answered": _answered(run_id, head)} if status in ENDED else face


def _answered(run_id: UUID, head: int) -> str:
    for tail in TAILS:
        answered, after = Answered(), max(0, head - tail)
        for event in _events(run_id, after, head):
            answered.follow(event)
        if answered.text or not after:
            return answered.text
    return ""


def _events(run_id: UUID, after: int, head: int) -> list[dict[str, Any]]:
    rows = reading.rows(run_id, after, head, MOST_BYTES, _READ)
    return [loads(payload) for _, _, payload in rows]
