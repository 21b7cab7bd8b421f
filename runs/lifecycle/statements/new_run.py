"""A new run: thread, journal, run, a line of the audit log and its job, in one message.

A message of several statements is one transaction, unless the caller has begun one.
"""

from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection, models

from backends import tracing
from events.models import Journal
from runs.lifecycle import admission
from runs.models import Run, Thread
from teams.limits import Limits
from teams.models import AuditEntry

NEW_THREAD = "{insert} values ({values}) on conflict (team_id, thread_id) do nothing returning id"
EXISTING_THREAD = "select %(thread__id)s::uuid as id"
RUN = """
with thread as ({thread}),
journal as ({insert_journal} select {journal} from thread)
{insert_run} select {run} from thread returning created_at
"""
KNOWN = """
select exists (select from runs_thread where team_id = %(team)s and thread_id = %(thread)s)
"""
LINE = "{insert} select {values} from runs_run where journal_id = %(run)s"
PLACE = f"{admission.PLACE} from runs_run where journal_id = %(run)s"
# Of a run that has to wait for admission only its id says which request has started it.
CARRY = """
update procrastinate_jobs
   set args = args || jsonb_build_object('traceparent', %(traceparent)s::text)
 where id = (select job_id from runs_run where journal_id = %(run)s)
"""
BY_THE_DATABASE = frozenset({"created_at", "at"})


def knows_thread(team_id: UUID, thread_id: str) -> bool:
    """Whether the team has a thread of that name."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN, {"team": team_id, "thread": thread_id})
        return bool(cursor.fetchone()[0])


class ThreadExists(Exception):
    """Somebody else has just made this thread, so nothing was written. Control flow."""


def insert(run: Run, line: AuditEntry, limits: Limits | None) -> None:
    """Insert ``run``, its new journal and, if it is new, its thread.

    ``limits``: those by which it is admitted; None for a run that takes no place in the queue now.
    Raises ThreadExists, and LimitReached if too many runs wait or, for a new thread, if the team
    may start none now.
    """
    is_new = run.thread._state.adding
    statements = [_run_in_new_thread() if is_new else _run(), _line()]
    values = _values("run", run) | _values("journal", run.journal) | _values("line", line)
    values |= _values("thread", run.thread) | {"run": run.pk}
    if limits is not None:
        statements.append(PLACE)
        values |= admission.place_of(run, limits)
        if is_new:  # In an existing one, ``admission.check`` comes before other runs are cancelled.
            statements.insert(0, admission.CHECK)
            values |= admission.check_of(run.team_id, limits)
        if (traceparent := tracing.traceparent()) is not None:
            statements.append(CARRY)
            values["traceparent"] = traceparent
    with admission.refusing(limits), connection.cursor() as cursor:
        cursor.execute(";".join(statements), values)
        if statements[0] == admission.CHECK:
            cursor.nextset()
        if (row := cursor.fetchone()) is None:
            raise ThreadExists
        run.created_at = row[0]
        if limits is not None:
            cursor.nextset()
            cursor.nextset()
            run.job_id = cursor.fetchone()[0]
    if is_new:
        run.thread.created_at = run.created_at
    for instance in (run, run.journal, run.thread):
        instance._state.adding, instance._state.db = False, connection.alias


@cache
def _run() -> str:
    return _run_in(EXISTING_THREAD)


@cache
def _run_in_new_thread() -> str:
    insert, values = _parts("thread", Thread)
    return _run_in(NEW_THREAD.format(insert=insert, values=values))


def _run_in(thread: str) -> str:
    insert_journal, journal = _parts("journal", Journal)
    insert_run, run = _parts("run", Run)
    return RUN.format(
        thread=thread,
        insert_journal=insert_journal,
        journal=journal,
        insert_run=insert_run,
        run=run,
    )


@cache
def _line() -> str:
    insert, values = _parts("line", AuditEntry)
    return LINE.format(insert=insert, values=values)


def _parts(name: str, model: type[models.Model]) -> tuple[str, str]:
    fields = _fields(model)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(f"%({name}__{field.attname})s" for field in fields)
    return f'insert into "{model._meta.db_table}" ({columns})', places


def _values(name: str, instance: models.Model) -> dict[str, Any]:
    return {
        f"{name}__{field.attname}": getattr(instance, field.attname)
        for field in _fields(type(instance))
    }


@cache
def _fields(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    return [field for field in model._meta.concrete_fields if field.name not in BY_THE_DATABASE]
