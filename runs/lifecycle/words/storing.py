"""Storing the words of runs, some time after they changed: a worker does it from time to time.

A row in ``RunWords`` is all that a run costs before, made here for many runs at once: no start or
end waits for it. The teams take turns, the newest runs of each come first. A run whose words are
being stored can be purged at the same time: either side waits for the other, and the purge has the
last word (``store``). Several workers can store at once: each run is stored by one of them.
"""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import F

from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor, uuid7_seconds
from runs.lifecycle.words import contents, stretches
from runs.lifecycle.words.contents import Contents
from runs.lifecycle.words.cut import lexemes, words
from runs.models import RunWords, Thread

log = structlog.get_logger(__name__)

MARKED = 10_000
"""Runs that are marked at once."""
PER_TURN = 50
"""Runs of a team before the next team's turn."""
BATCH = 50
"""Runs, of several teams, whose words are stored in one transaction."""
MARK_EVERY = 5.0
"""Seconds until new runs are marked again: it looks at all runs of the ``LATEST`` seconds."""
RENAMED = 1_000
"""Runs of a thread, the newest ones, that are found by its new title."""
REST = 1.0
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

STAYING = """
select id from events_journal
 where id = any (%s) and closed_at is not null and bytes > 0 order by id for share
"""
# A row that is locked is left for the next time: two that store never wait for each other.
FREE = """
select run_id from runs_runwords where run_id = any (%s) order by run_id
   for no key update skip locked
"""
STORE = """
update runs_runwords stored
   set words = array_to_tsvector(string_to_array(new.words, %s)), due = new.due
  from unnest(%s::uuid[], %s::int[], %s::text[], %s::int[]) new (run, version, words, due)
 where stored.run_id = new.run and stored.due = new.version
"""
SEPARATOR = "\x1f"


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Store due words, for so many seconds at most; how many runs. Idempotent."""
    until, total = time.monotonic() + seconds, 0
    mark()
    marked_at = time.monotonic()
    while time.monotonic() < until and (turns := due()):
        for first in range(0, len(turns), BATCH):
            if leaving() or time.monotonic() >= until:
                return total
            began = time.monotonic()
            total += store(turns[first : first + BATCH])
            time.sleep(REST * (time.monotonic() - began))
        if time.monotonic() - marked_at > MARK_EVERY:
            mark()
            marked_at = time.monotonic()
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


def store(turns: Sequence[tuple[UUID, int]]) -> int:
    """Store the words of these runs; how many. Not of those changed, stored or purged in between.

    A run that cannot be read is set aside, and neither tried again nor in the way.
    """
    versions = dict(turns)
    texts: dict[UUID, Contents | None] = {}
    for run_id, text in contents.read_many(list(versions)).items():
        if isinstance(text, Exception):
            log.error("words.not_stored", run=str(run_id), exc_info=text)
            row = RunWords.objects.of_any_team().filter(run=run_id, due=versions[run_id])
            row.update(due=SET_ASIDE)
        else:
            texts[run_id] = text
    cut = {
        run_id: [*lexemes(text.team, [*words(text.texts), *stretches.of(run_id)])]
        for run_id, text in texts.items()
        if text is not None
    }
    ended = [run_id for run_id, text in texts.items() if text is not None and text.ended]
    with transaction.atomic(), connection.cursor() as cursor:
        # A purge changes the journal first, so that this waits here or the purge is over, and the
        # row of the words after it. That of a run that was live when we read it is locked first.
        cursor.execute(STAYING, [ended])
        gone = set(ended) - {run_id for (run_id,) in cursor.fetchall()}
        gone |= texts.keys() - cut.keys()
        cursor.execute(FREE, [list(texts)])
        free = {run_id for (run_id,) in cursor.fetchall()}
        if gone & free:
            forget(gone & free)
        ready = sorted(free - gone)
        over = set(ended)
        states = [DONE if run_id in over else OF_LIVE for run_id in ready]
        joined = [SEPARATOR.join(cut[run_id]) for run_id in ready]
        of = [versions[run_id] for run_id in ready]
        cursor.execute(STORE, [SEPARATOR, ready, of, joined, states])
        return int(cursor.rowcount)


def forget(run_ids: Iterable[UUID]) -> None:
    """Delete the words of these runs, in the transaction that purges them."""
    rows = RunWords.objects.already_found().filter(run__in=list(run_ids))
    rows.update(words=None, due=DONE)


def renamed(thread: Thread) -> None:
    """Let the thread's newest runs be found by its new title, soon."""
    rows = RunWords.objects.for_team(thread.team).filter(run__thread=thread)
    newest = rows.order_by("-pk").values_list("pk", flat=True)[:RENAMED]
    RunWords.objects.for_team(thread.team).filter(pk__in=list(newest)).update(due=F("due") + STALE)
