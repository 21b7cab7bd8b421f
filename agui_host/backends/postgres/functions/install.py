"""Installs the functions and triggers of the files, after ``migrate`` has applied all migrations.

Can be repeated. A comment on each holds the digests of the statement that made it and of the
definition that PostgreSQL shows for it, so an unchanged one is not touched, and one that somebody,
or a migration, has replaced is installed again.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations import RunPython
from django.db.utils import DatabaseError

from agui_host.backends.postgres.functions import privileges, sql_files
from agui_host.backends.postgres.functions.sql_files import Files, Function, Trigger

MARK = "agui-host"
"""Begins the comments of what we have installed: only that is dropped when no file has it."""
LOCK = "select pg_advisory_xact_lock(hashtextextended('agui.functions', 0))"
"""Two processes can migrate at the same time."""
FUNCTIONS = """
select p.oid::regprocedure::text, p.proname, md5(pg_get_functiondef(p.oid)),
       coalesce(obj_description(p.oid, 'pg_proc'), '')
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = current_schema() and p.prokind in ('f', 'p')
   and pg_has_role(p.proowner, 'member')
   and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
"""
TRIGGERS = """
select t.tgrelid::regclass::text, t.tgname, md5(pg_get_triggerdef(t.oid)),
       coalesce(obj_description(t.oid, 'pg_trigger'), '')
  from pg_trigger t join pg_class c on c.oid = t.tgrelid
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = current_schema() and not t.tgisinternal and t.tgparentid = 0
   and pg_has_role(c.relowner, 'member')
"""
CHECK = """
select case l.lanname when 'sql' then fmgr_sql_validator(p.oid)::text
                      when 'plpgsql' then plpgsql_validator(p.oid)::text end
  from pg_proc p join pg_language l on l.oid = p.prolang where p.oid = %s::regprocedure
"""


class Changes(NamedTuple):
    """Functions and triggers that an installation has changed, by name."""

    installed: list[str]
    dropped: list[str]


class Stored(NamedTuple):
    """A function or trigger that the database has."""

    place: str
    """A function's signature, a trigger's table."""
    name: str
    definition: str
    comment: str

    def is_made_by(self, statement: str) -> bool:
        """Whether it is as this statement made it."""
        return self.comment == f"{MARK} {sql_files.digest(statement)} {self.definition}"

    def is_stale(self, digests: set[str]) -> bool:
        """Whether we have installed it, by a statement that no file has."""
        mark, _, rest = self.comment.partition(" ")
        return mark == MARK and rest.partition(" ")[0] not in digests


def install() -> Changes:
    """Make the database's functions and triggers those of the files."""
    files = sql_files.read()
    privileges.refuse_foreign()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK)
        schema = _schema(cursor)
        installed = _install_functions(cursor, files.functions, schema)
        privileges.close()
        if installed:
            privileges.keep_open()
        triggers = _stored(cursor, TRIGGERS)
    for trigger in files.triggers:
        if any(each.is_made_by(trigger.text) for each in _like(trigger, triggers)):
            continue
        # One at a time: a trigger that changes locks its table.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(LOCK)
            installed += _install_trigger(cursor, trigger)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK)
        return Changes(installed, _drop_stale(cursor, files, schema))


def early(*names: str) -> RunPython:
    """A migration's operation, for a column's default, an index or data that need these functions.

    The tables that their bodies use can come with a later migration, so the bodies are not checked.
    """

    def forwards(_: Any, editor: Any) -> None:
        functions = [each for each in sql_files.read().functions if each.name in names]
        with editor.connection.cursor() as cursor:
            _install_functions(cursor, functions, _schema(cursor), are_checked=False)

    return RunPython(forwards, RunPython.noop)


def _schema(cursor: CursorWrapper) -> str:
    cursor.execute("select quote_ident(current_schema())")
    return str(cursor.fetchone()[0])


def _stored(cursor: CursorWrapper, query: str) -> list[Stored]:
    cursor.execute(query)
    return [Stored(*row) for row in cursor.fetchall()]


def _install_functions(
    cursor: CursorWrapper, functions: Iterable[Function], schema: str, are_checked: bool = True
) -> list[str]:
    stored = _stored(cursor, FUNCTIONS)
    statements = [(function, function.statement(schema)) for function in functions]
    changed = [
        (function, statement)
        for function, statement in statements
        if not any(each.is_made_by(statement) for each in stored if each.name == function.name)
    ]
    # They call each other, so their bodies are checked when all are there.
    cursor.execute("set local check_function_bodies = off")
    for function, statement in changed:
        mark = f"{MARK} {sql_files.digest(statement)}"
        _execute(cursor, function, statement)
        cursor.execute(f"comment on function {function.signature} is %s", [mark])
    cursor.execute("set local check_function_bodies = on")
    made = {each.comment: each for each in _stored(cursor, FUNCTIONS)}
    for function, statement in changed:
        mark = f"{MARK} {sql_files.digest(statement)}"
        if are_checked:
            _execute(cursor, function, CHECK, [made[mark].place])
        mark = f"{mark} {made[mark].definition}"
        cursor.execute(f"comment on function {function.signature} is %s", [mark])
    return [function.name for function, _ in changed]


def _install_trigger(cursor: CursorWrapper, trigger: Trigger) -> list[str]:
    before = _like(trigger, _stored(cursor, TRIGGERS))
    if any(each.is_made_by(trigger.text) for each in before):
        return []
    statement = trigger.text
    if not trigger.is_constraint:
        statement = statement.replace("create trigger", "create or replace trigger", 1)
    elif before:
        cursor.execute(f"drop trigger {trigger.name} on {trigger.table}")
    _execute(cursor, trigger, statement)
    for made in _like(trigger, _stored(cursor, TRIGGERS)):
        mark = f"{MARK} {sql_files.digest(trigger.text)} {made.definition}"
        cursor.execute(f"comment on trigger {trigger.name} on {trigger.table} is %s", [mark])
    return [trigger.name]


def _like(trigger: Trigger, stored: list[Stored]) -> list[Stored]:
    """The stored trigger of this name on this table, or none."""
    return [each for each in stored if (each.place, each.name) == (trigger.table, trigger.name)]


def _drop_stale(cursor: CursorWrapper, files: Files, schema: str) -> list[str]:
    """Triggers first: PostgreSQL drops no function that a trigger calls."""
    digests = {sql_files.digest(trigger.text) for trigger in files.triggers}
    triggers = [each for each in _stored(cursor, TRIGGERS) if each.is_stale(digests)]
    for each in triggers:
        cursor.execute(f"drop trigger {each.name} on {each.place}")
    digests = {sql_files.digest(function.statement(schema)) for function in files.functions}
    functions = [
        each
        for each in _stored(cursor, FUNCTIONS)
        if each.name not in files.former and each.is_stale(digests)
    ]
    for each in functions:
        cursor.execute(f"drop function {each.place}")
    return [each.name for each in [*triggers, *functions]]


def _execute(
    cursor: CursorWrapper,
    source: Function | Trigger,
    statement: str,
    values: list[str] | None = None,
) -> None:
    """Execute a statement from a file; what PostgreSQL refuses is an error of that file."""
    try:
        cursor.execute(statement, values)
    except DatabaseError as error:
        raise CommandError(
            f"{source.path}: {source.name}: {' '.join(str(error).split())} "
            "(A function with other parameters or another result needs a new name.)"
        ) from error
