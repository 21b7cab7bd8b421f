"""A new run in an existing thread: journal, run, audit line and its stamp, in one message.

A message of several statements is one transaction, unless the caller has begun one.

Here is the order of a thread's runs: the ids rise. The caller has the thread's lock, and a run is
stored only with an id above those of all earlier ones, whatever clock has made them. Whatever
compares runs of one thread compares their ids.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection, models

from agui_host.backends import epochs, tracing
from agui_host.backends.postgres import clock
from agui_host.protocol.fold import face
from agui_host.protocol.ids import above
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.teams.actors import Actor, EndUser, credential_of
from agui_host.teams.limits import Limits
from agui_host.teams.models import AuditEntry
from events.models import Journal
from runs.lifecycle import admission
from runs.lifecycle.pieces import storing
from runs.models import Run, Thread

# No row, and then nothing by the following statements, if the thread has a run with a higher id.
RUN = """
with newest as (
    select where not exists (
        select from runs_run
         where thread_id = %(run__thread_id)s and journal_id >= %(run__journal_id)s)),
journal as ({insert_journal} select {journal} from newest)
{insert_run} select {run} from newest returning created_at
"""
NEWEST = """
select journal_id from runs_run where thread_id = %s order by journal_id desc limit 1
"""
KNOWN = """
select exists (select from runs_thread where team_id = %(team)s and thread_id = %(thread)s)
"""
LINE = "{insert} select {values} from runs_run where journal_id = %(run)s"
IF_MADE = " where exists (select from runs_run where journal_id = %(run)s)"
BY_THE_DATABASE = frozenset({"created_at", "at", "epoch", "marks"})


def of_request(
    journal: Journal, thread: Thread, request: RunRequest, starter: Actor, **columns: Any
) -> Run:
    """The row of a new run, not yet stored; ``agui_start_handed`` inserts the same.

    ``columns`` are those that differ by the way of its start, and its team.
    """
    return Run(
        journal=journal,
        thread=thread,
        run_id=request.run_id,
        parent_run_id=request.body.get("parentRunId"),
        protocol_version=request.body.get("protocolVersion"),
        request_digest=request.digest,
        asked=face.question_of(request.body.get("messages")),
        traceparent=tracing.traceparent(),
        started_by=starter.label,
        starter=credential_of(starter),
        end_user=starter.end_user.sub if starter.end_user else "",
        person=starter.end_user.claims if starter.end_user else None,
        **columns,
    )


def starter_of(run: Run) -> Actor:
    """The actor that started a run, for a run that follows from it."""
    if not run.end_user:
        return Actor(run.started_by, run.starter)
    creator = run.thread.creator
    end_user = EndUser(run.end_user, creator, run.starter, run.person or "{}")
    return Actor(run.started_by, creator, end_user)


def knows_thread(team_id: UUID, thread_id: str) -> bool:
    """Whether the team has a thread of that name."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN, {"team": team_id, "thread": thread_id})
        return bool(cursor.fetchone()[0])


def insert(
    run: Run,
    body: Mapping[str, Any],
    line: AuditEntry,
    limits: Limits | None,
    link: str | None = None,
) -> None:
    """Insert ``run``, whose input is the text of ``body``, and its new journal.

    Under its thread's lock. ``limits``: those by which it is admitted; None for a run that takes no
    place in the queue now. ``link``: of the worker that may have it at once. A newer run of the
    thread raises the id, in ``line`` too. Raises LimitReached if too many runs wait.
    """
    stored = storing.input_of(run.thread_id, run.input, body)
    if not _insert(run, line, limits, stored, link):
        run.journal = Journal(id=next_id(run.thread_id))
        line.target = str(run.pk)
        _insert(run, line, limits, stored, link)
    run.journal.epoch = epochs.latest
    for instance in (run, run.journal):
        instance._state.adding, instance._state.db = False, connection.alias


def next_id(thread_id: UUID) -> UUID:
    """An id above those of all runs of a thread that has some; under the thread's lock."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [thread_id])
        return max(clock.new_id(), above(cursor.fetchone()[0]))


def _insert(
    run: Run, line: AuditEntry, limits: Limits | None, stored: str, link: str | None
) -> bool:
    statements = [_run(), _line()]
    values = _values("run", run) | _values("journal", run.journal) | _values("line", line)
    values["run"] = run.pk
    values["run__input"] = stored
    if limits is not None:
        statements.append(admission.PLACES[link is not None] + IF_MADE)
        values |= admission.place_of(run, limits) | {"link": link}
    with admission.refusing(limits), connection.cursor() as cursor:
        cursor.execute(";".join(statements), values)
        row = cursor.fetchone()
        if row is None:
            return False
        run.created_at = row[0]
        if limits is not None:
            cursor.nextset()
            cursor.nextset()
            admission.note_place(run, *cursor.fetchone())
    return True


@cache
def _run() -> str:
    insert_journal, journal = _parts("journal", Journal)
    insert_run, run = _parts("run", Run)
    return RUN.format(
        insert_journal=insert_journal, journal=journal, insert_run=insert_run, run=run
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
