"""PostgreSQL's own scoping by team, in addition to that of ``agui_host.teams.tenancy`` (ADR 0004).

After every ``migrate``: the roles of web and worker, their rights, and on each table of ours a
policy that is derived from its model, so that a new table of teams is never forgotten. Everything
can be done again; a table that is as it should be is not locked.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.models import ForeignKey, Model
from django.db.utils import DatabaseError, ProgrammingError

from agui_host.backends.postgres.functions import privileges
from agui_host.backends.postgres.functions.sql_files import APPS
from agui_host.backends.postgres.roles import APPLICATION, WRITER, has_login, membership, name
from agui_host.teams.models import AuditEntry, Team

# Each in a subselect, which PostgreSQL evaluates once for a statement.
EVERYWHERE = "(select agui_reaches_all())"
LISTED = "(select agui_reached())::uuid[]"
EVENTS = "events_event"
"""Closed to the application's role but for ``agui_events``: COPY refuses a table with a policy."""
WRITES = {
    "events_journal": "select, update (head, bytes, closed_at)",
    EVENTS: "insert",
    "events_finding": "select, insert",
    "runs_run": "select, update",
    "runs_interrupt": "select, insert, update",
    "runs_endedrun": "select, insert",
    "runs_usagechange": "insert",
    "runs_unreadrun": "insert",
    "runs_budget": "select",
    "runs_budgetedrun": "select, update",
    "runs_spent": "insert",
    "runs_failure": "select, insert",
    # How much a run has stored.
    "runs_effect": "select (run_id, team_id, bytes)",
    "runs_feedentry": "select, insert",
    # That the agent has read a message: with the event that shows it to readers.
    "runs_runmessage": "select, update (seen_seq, seen_at)",
    # Who wants to be called about the end of a run, by the triggers of runs/models/webhook.py.
    "runs_webhook": "select (id, team_id, events, agents, enabled, creator, task, thread_id)",
    "runs_webhookdelivery": "insert",
    "runs_thread": "select (id, visibility, creator)",
    "runtimes_agent": "select (id, slug)",
    # The first key of an end user, whom the usage is named by (runs/sql/usage.sql).
    "teams_apikey": "select (id, team_id, prefix, end_user_realm, created)",
    # Whether another of a team's runs may begin, after the end of one.
    "teams_teamlimits": "select (team_id, concurrent_runs)",
}
"""The journal's writer appends, and does the work that belongs to the terminal event."""
READ_ONLY = frozenset({"django_migrations", EVENTS})
TABLES = """
select c.relname, c.relrowsecurity from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = current_schema() and c.relkind in ('r', 'p') and not c.relispartition
   and pg_has_role(c.relowner, 'member')
"""
VIEWS = """
select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = current_schema() and c.relkind = 'v' and pg_has_role(c.relowner, 'member')
"""
POLICIES = """
select polname, obj_description(p.oid, 'pg_policy') from pg_policy p
  join pg_class c on c.oid = p.polrelid where c.oid = %s::regclass
"""


class Policy(NamedTuple):
    """One policy: who it is for, which rows they see, and which they may write."""

    name: str
    command: str
    role: str
    using: str
    check: str

    def sql(self, table: str) -> str:
        """The statement that makes it."""
        clauses = f" using ({self.using})" if self.using else ""
        clauses += f" with check ({self.check})" if self.check else ""
        return (
            f'create policy {self.name} on "{table}" for {self.command} to "{self.role}"{clauses}'
        )


def owned() -> list[type[Model]]:
    """The models whose rows a policy scopes: all of this host's own but Event."""
    models = (model for app in APPS for model in apps.get_app_config(app).get_models())
    return [model for model in models if model._meta.db_table != EVENTS]


def apply() -> str | None:
    """Make roles, grants and policies as they should be; why not, where the server refuses roles.

    Without roles everything works as the owner. With them, what else goes wrong is an error: web
    and worker would use roles that may not do what this version does.
    """
    with connection.cursor() as cursor:
        cursor.execute("select current_database()")
        database = cursor.fetchone()[0]
    roles = name(database, APPLICATION), name(database, WRITER)
    privileges.refuse_foreign()
    with transaction.atomic():
        privileges.close()
    try:
        for role in roles:
            _make_role(role)
    except DatabaseError as error:
        return " ".join(str(error).split())
    with transaction.atomic():
        if has_login():
            _let_in(roles[0])
        privileges.grant(*roles)  # Policies call them.
    for model in owned():
        # One at a time: a policy that changes locks its table.
        with transaction.atomic():
            _protect(model, *roles)
    with transaction.atomic():
        _grant(*roles)
    return None


def policies(model: type[Model], application: str, writer: str) -> Iterator[Policy]:
    """The policies of a model's table."""
    scoped = condition(model)
    if model is Team:
        # Whom something may be shared with is looked up by its id; names are no secret here.
        yield Policy("agui_read", "select", application, "true", "")
        yield Policy("agui_insert", "insert", application, "", EVERYWHERE)
        yield Policy("agui_update", "update", application, scoped, scoped)
        yield Policy("agui_delete", "delete", application, scoped, "")
    elif _owner(model) is not None and _owner(model) == _follower(model) and not _has_team(model):
        yield Policy("agui_team", "all", application, scoped, "true")
    else:
        yield Policy("agui_team", "all", application, scoped, scoped)
    if model._meta.db_table in WRITES:
        yield Policy("agui_writer", "all", writer, "true", "true")


def condition(model: type[Model]) -> str:
    """Which rows of a model's table a scope reaches, as SQL: its team's, or its owner's.

    What leads to no team is for work that belongs to none. Without ``offset 0`` PostgreSQL may
    read all owners of the team into memory to look up the few that a page needs.
    """
    if model is Team:
        return f"{EVERYWHERE} or id = any ({LISTED})"
    if _has_team(model):
        return f"{EVERYWHERE} or team_id = any ({LISTED})"
    if owner := _owner(model):
        table, (parent, key, column) = model._meta.db_table, owner
        return (
            f'{EVERYWHERE} or exists (select from "{parent}" owner'
            f' where owner."{key}" = "{table}"."{column}" offset 0)'
        )
    return EVERYWHERE


def _owner(model: type[Model]) -> tuple[str, str, str] | None:
    """The owner of a row without a team: table and column, and the column that leads there."""
    for field in model._meta.concrete_fields:
        if isinstance(field, ForeignKey) and not field.null and _is_ours(field.related_model):
            parent = field.related_model._meta.db_table
            return parent, str(field.target_field.column), field.column
    return _follower(model)


def _follower(model: type[Model]) -> tuple[str, str, str] | None:
    """The same for a row that is there before its owner is: a journal, which its run names."""
    for relation in model._meta.related_objects:
        key = relation.field
        if relation.one_to_one and key.primary_key:
            return key.model._meta.db_table, str(key.column), str(model._meta.pk.column)
    return None


def _has_team(model: type[Model]) -> bool:
    return any(field.name == "team" for field in model._meta.concrete_fields)


def _is_ours(model: type[Model]) -> bool:
    return model._meta.app_label in APPS


def _make_role(role: str) -> None:
    """A role that owns nothing and inherits nothing: it would also have the writer's policies."""
    with connection.cursor() as cursor:
        cursor.execute("select 1 from pg_roles where rolname = %s", [role])
        if cursor.fetchone() is None:
            cursor.execute(f'create role "{role}" noinherit')
        taken = membership(connection.connection)
        cursor.execute("select pg_has_role(session_user, %s, %s)", [role, taken])
        if not cursor.fetchone()[0]:
            cursor.execute(f'grant "{role}" to session_user')


def _let_in(role: str) -> None:
    """Let a role log in; its password leaves this process only as a hash.

    Where an administrator has made the role and let it in, its owner may not change that.
    """
    password = settings.AGUI_DATABASE_APP_PASSWORD
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f'alter role "{role}" login')
            if password:
                sealed = connection.connection.pgconn.encrypt_password(
                    password.encode(), role.encode(), b"scram-sha-256"
                )
                cursor.execute(f'alter role "{role}" password %s', [sealed.decode()])
    except ProgrammingError:
        with connection.cursor() as cursor:
            cursor.execute("select rolcanlogin from pg_roles where rolname = %s", [role])
            if not cursor.fetchone()[0]:
                raise


def _grant(application: str, writer: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select quote_ident(current_schema())")
        schema = cursor.fetchone()[0]
        cursor.execute(TABLES)
        tables = {table for table, _ in cursor.fetchall()}
        both = f'"{application}", "{writer}"'
        cursor.execute(f"grant usage on schema {schema} to {both}")
        cursor.execute(f"grant usage, select, update on all sequences in schema {schema} to {both}")
        taken = membership(connection.connection)
        cursor.execute("select pg_has_role(%s, %s, %s)", [application, writer, taken])
        if not cursor.fetchone()[0]:
            cursor.execute(f'grant "{writer}" to "{application}"')
        for table in sorted(tables - READ_ONLY - {AuditEntry._meta.db_table}):
            cursor.execute(f'grant select, insert, update, delete on "{table}" to "{application}"')
        cursor.execute(f'grant select on "django_migrations" to "{application}"')
        cursor.execute(
            f'grant select, insert, delete on "{AuditEntry._meta.db_table}" to "{application}"'
        )
        for table in sorted(tables & WRITES.keys()):
            cursor.execute(f'grant {WRITES[table]} on "{table}" to "{writer}"')
        cursor.execute(VIEWS)
        for (view,) in cursor.fetchall():
            cursor.execute(f'grant select on "{view}" to "{application}"')


def _protect(model: type[Model], application: str, writer: str) -> None:
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(TABLES + " and c.relname = %s", [table])
        if (row := cursor.fetchone()) is None:
            return  # migrated to before it was
        target = {policy.name: policy.sql(table) for policy in policies(model, application, writer)}
        cursor.execute(POLICIES, [f'"{table}"'])
        there = dict(cursor.fetchall())
        for statement in _changes(table, target, there):
            cursor.execute(statement)
        if not row[1]:
            cursor.execute(f'alter table "{table}" enable row level security')


def _changes(table: str, target: dict[str, str], there: dict[str, str]) -> Iterable[str]:
    """A policy's comment is the statement that made it: only what differs is made again."""
    for policy in there.keys() - target.keys():
        if policy.startswith("agui_"):
            yield f'drop policy {policy} on "{table}"'
    for policy, statement in target.items():
        if there.get(policy) == statement:
            continue
        if policy in there:
            yield f'drop policy {policy} on "{table}"'
        yield statement
        yield f'comment on policy {policy} on "{table}" is $policy${statement}$policy$'
