"""Storing the words of runs, some time after they changed: a worker does it from time to time.

A row in ``RunWords`` is all that a run costs before, made here for many runs at once: no start or
end waits for it. The teams take turns, the newest runs of each come first. A run whose words are
being stored can be purged at the same time: either side waits for the other, and the purge has the
last word (``store``).
"""

import random
import time
from collections.abc import Callable, Iterable
from uuid import UUID

import structlog
from django.contrib.postgres.fields import ArrayField
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Func, TextField, Value

from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor, uuid7_seconds
from events import outlines
from runs.lifecycle.words import contents, stretches
from runs.lifecycle.words.cut import lexemes, words
from runs.models import RunWords, Thread

log = structlog.get_logger(__name__)

MARKED = 10_000
"""Runs that are marked at once."""
PER_TURN = 5
"""Runs of a team before the next team's turn."""
RENAMED = 1_000
"""Runs of a thread, the newest ones, that are found by its new title."""
REST = 3.0
"""Seconds of rest for each second of work."""
LATEST = 15 * 60
"""Seconds within which a transaction that makes a run, whose id it has from before, commits."""
DONE, OF_LIVE, STALE, SET_ASIDE = 0, 1, 2, -1
"""Values of ``due``; each change of the words' sources adds ``STALE``."""

# Purged runs are also marked: there are no gaps between the oldest and the newest mark.
MARK = """
insert into runs_runwords (run_id, team_id, due)
select journal_id, team_id, case when purged_at is null then %(stale)s else %(done)s end
  from runs_run run
 where {where}
   and not exists (select from runs_runwords marked where marked.run_id = run.journal_id)
 order by journal_id {order} limit %(most)s
    on conflict do nothing
"""
NEW = MARK.format(where="journal_id > %(after)s", order="asc")
OLD = MARK.format(where="journal_id < %(before)s", order="desc")
# The teams for which there is anything to do, one step of the index each, then their newest runs.
DUE = """
with recursive waiting (team) as (
    (select team_id from runs_runwords where due > 0 order by team_id limit 1)
    union all
    select (select w.team_id from runs_runwords w where w.due > 0 and w.team_id > waiting.team
             order by w.team_id limit 1)
      from waiting where waiting.team is not null)
select turn.place, turn.run_id, turn.due
  from waiting
  cross join lateral (
      select row_number() over () as place, run_id, due from (
          select w.run_id, w.due from runs_runwords w
           where w.team_id = waiting.team and w.due > 0
             and (w.due > %(of_live)s or exists (
                 select from events_journal j where j.id = w.run_id and j.closed_at is not null))
           order by w.run_id desc limit %(per_turn)s) newest) turn
"""


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Store due words, for so many seconds at most; how many runs. Idempotent."""
    until, total = time.monotonic() + seconds, 0
    mark()
    while time.monotonic() < until and (turns := due()):
        for run_id, version in turns:
            if leaving() or time.monotonic() >= until:
                return total
            began = time.monotonic()
            total += store_safely(run_id, version)
            time.sleep(REST * (time.monotonic() - began))
        mark()
    return total


def mark() -> int:
    """Make the rows of runs that have none, in both directions; how many runs."""
    marks = RunWords.objects.of_any_team()
    newest = marks.order_by("-pk").values_list("pk", flat=True).first()
    oldest = marks.order_by("pk").values_list("pk", flat=True).first()
    after = UUID(int=2**128 - 1)
    if newest:
        # An id can be of the future: a clock that was ahead has made it, or one of its thread.
        after = uuid7_floor(min(uuid7_seconds(newest), clock.seconds()) - LATEST)
    before = oldest or UUID(int=2**128 - 1)
    values = {"after": after, "before": before, "most": MARKED, "stale": STALE, "done": DONE}
    count = 0
    with connection.cursor() as cursor:
        for statement in (NEW, OLD):
            cursor.execute(statement, values)
            count += cursor.rowcount
    return count


def due() -> list[tuple[UUID, int]]:
    """The next runs, and their due versions: some of each team, the first of each first.

    The order of the teams is another one each time, since time can be up before the last.
    """
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"of_live": OF_LIVE, "per_turn": PER_TURN})
        rows = cursor.fetchall()
    random.shuffle(rows)
    rows.sort(key=lambda row: row[0])
    return [(run_id, version) for _, run_id, version in rows]


def store_safely(run_id: UUID, version: int) -> bool:
    """``store``; a run that cannot be read is set aside, and neither tried again nor in the way."""
    try:
        return store(run_id, version)
    except (OperationalError, InterfaceError):
        raise  # That is no fault of this run.
    except Exception:
        log.exception("words.not_stored", run=str(run_id))
        RunWords.objects.of_any_team().filter(run=run_id, due=version).update(due=SET_ASIDE)
        return False


def store(run_id: UUID, version: int) -> bool:
    """Store a run's words; False if they were changed, stored or purged in between."""
    run = contents.read(run_id)
    cut = [] if run is None else lexemes(run.team, [*words(run.texts), *stretches.of(run_id)])
    with transaction.atomic():
        # A purge changes the journal first, so that it waits here or is over, and the row of the
        # words after it. That of a run that was live when we read it has this row before it.
        if run is None or (run.ended and not _stays(run_id)):
            forget([run_id])
            return False
        row = RunWords.objects.of_any_team().filter(run=run_id, due=version)
        return bool(row.update(words=_vector(cut), due=DONE if run.ended else OF_LIVE))


def forget(run_ids: Iterable[UUID]) -> None:
    """Delete the words of these runs, in the transaction that purges them."""
    rows = RunWords.objects.already_found().filter(run__in=list(run_ids))
    rows.update(words=None, due=DONE)


def renamed(thread: Thread) -> None:
    """Let the thread's newest runs be found by its new title, soon."""
    rows = RunWords.objects.for_team(thread.team).filter(run__thread=thread)
    newest = rows.order_by("-pk").values_list("pk", flat=True)[:RENAMED]
    RunWords.objects.for_team(thread.team).filter(pk__in=list(newest)).update(due=F("due") + STALE)


def _stays(journal_id: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(outlines.CLOSED_AND_STAYS, [journal_id])
        return bool(cursor.rowcount)


def _vector(cut: list[str]) -> Func:
    return Func(Value(cut, output_field=ArrayField(TextField())), function="array_to_tsvector")
