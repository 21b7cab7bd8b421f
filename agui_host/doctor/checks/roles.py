"""The roles of web and worker, and the policies that scope their queries (ADR 0004)."""

import json

from django.conf import settings
from django.db import connection

from agui_host.backends.postgres import roles
from agui_host.doctor.findings import Fault, check
from agui_host.teams import row_security

ROLES = """
select rolname, rolsuper or rolbypassrls, rolcanlogin,
       exists (select from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p')
                  and c.relnamespace = current_schema()::regnamespace)
  from pg_roles r where rolname = any (%s)
"""
RIGHTS = """
select c.relname from pg_class c
 where c.relnamespace = current_schema()::regnamespace and c.relname = any (%s)
   and not has_table_privilege(%s, c.oid, 'select') order by 1
"""
SCHEMA = "select has_schema_privilege(%s, current_schema(), 'usage')"
TABLES = """
select c.relname, c.relrowsecurity, coalesce(jsonb_object_agg(
           p.polname, obj_description(p.oid, 'pg_policy')) filter (where p.oid is not null), '{}')
  from pg_class c left join pg_policy p on p.polrelid = c.oid
 where c.relnamespace = current_schema()::regnamespace and c.relname = any (%s)
 group by 1, 2
"""
OFF = "off, by AGUI_DATABASE_ROLES"
MIGRATE = "agui-host migrate"
MOST_NAMES = 3


def names() -> tuple[str, str]:
    """The application's role and the writer's."""
    with connection.cursor() as cursor:
        cursor.execute("select current_database()")
        database = cursor.fetchone()[0]
    return roles.name(database, roles.APPLICATION), roles.name(database, roles.WRITER)


def some(items: list[str]) -> str:
    """The first of them, and how many follow."""
    rest = len(items) - MOST_NAMES
    return ", ".join(items[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


@check("roles", needs="migrations")
def application_roles() -> str | list[Fault]:
    """Whether both roles are there, restricted, and have their rights; and web logs in as one."""
    if not settings.AGUI_DATABASE_ROLES:
        return OFF
    both = names()
    with connection.cursor() as cursor:
        cursor.execute(ROLES, [list(both)])
        rows = {name: values for name, *values in cursor.fetchall()}
    faults = [
        Fault(f"There is no role {name}, so row-level security is off.",
              f"{MIGRATE}, as a user who may create roles ({roles.SEE})")
        for name in both if name not in rows
    ]  # fmt: skip
    for name, (is_mighty, _, owns) in rows.items():
        if is_mighty:
            faults.append(
                Fault(
                    f"The role {name} is exempt from row-level security.",
                    f'alter role "{name}" nosuperuser nobypassrls',
                )
            )
        if owns:
            faults.append(
                Fault(
                    f"The role {name} owns tables, so policies do not restrict it.",
                    f'reassign owned by "{name}" to the user of DATABASE_URL',
                )
            )
    if not faults:
        faults += _rights(*both)
    if not faults and roles.has_login() and not rows[both[0]][1]:
        faults.append(Fault(f"The role {both[0]} cannot log in.", MIGRATE))
    if not faults and roles.can_be_left(here=False):
        faults.append(
            Fault(
                "Web and worker log in as the owner of the database.",
                f"Set AGUI_DATABASE_APP_PASSWORD, then {MIGRATE} ({roles.SEE}).",
            )
        )
    return faults or ", ".join(both)


def _rights(application: str, writer: str) -> list[Fault]:
    tables = [model._meta.db_table for model in row_security.owned()]
    faults = []
    with connection.cursor() as cursor:
        for role, theirs in ((application, tables), (writer, _readable())):
            cursor.execute(SCHEMA, [role])
            has_schema = cursor.fetchone()[0]
            cursor.execute(RIGHTS, [theirs, role])
            closed = [table for (table,) in cursor.fetchall()]
            if not has_schema or closed:
                places = some(closed) if closed else "the schema"
                faults.append(Fault(f"The role {role} has no right to {places}.", MIGRATE))
        cursor.execute("select pg_has_role(%s, %s, 'member')", [application, writer])
        if not cursor.fetchone()[0]:
            faults.append(Fault(f"The role {application} cannot become {writer}.", MIGRATE))
    return faults


def _readable() -> list[str]:
    return [table for table, rights in row_security.WRITES.items() if rights.startswith("select,")]


@check("policies", needs="roles")
def policies() -> str | list[Fault]:
    """Whether each table has the policies that its model asks for, and they are enforced."""
    if not settings.AGUI_DATABASE_ROLES:
        return OFF
    both = names()
    models = {model._meta.db_table: model for model in row_security.owned()}
    with connection.cursor() as cursor:
        cursor.execute(TABLES, [list(models)])
        rows = {table: (enforced, comments) for table, enforced, comments in cursor.fetchall()}
    open_tables, outdated = [], []
    for table, model in sorted(models.items()):
        enforced, comments = rows[table]
        comments = json.loads(comments) if isinstance(comments, str) else comments
        made = row_security.policies(model, *both)
        expected = {policy.name: policy.sql(table) for policy in made}
        if not enforced:
            open_tables.append(table)
        elif any(comments.get(name) != statement for name, statement in expected.items()):
            outdated.append(table)
    faults = []
    if open_tables:
        faults.append(Fault(f"Row-level security is off for {some(open_tables)}.", MIGRATE))
    if outdated:
        faults.append(Fault(f"The policies of {some(outdated)} are missing or changed.", MIGRATE))
    return faults or f"{len(models)} tables"
