# ruff: noqa: S608  (the tables are our own)
"""PostgreSQL's own scoping, where the query backstop does not reach: raw SQL as the application.

Inside a scope these tests use the application's role (``tests/as_application.py``).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from psycopg.errors import InsufficientPrivilege, UniqueViolation

from agui_host.backends.postgres import roles, scope
from agui_host.runtimes.models import FileDirectory
from agui_host.teams import row_security
from agui_host.teams.models import Team
from runs.models import Run
from tests.cast import Cast
from tests.tenancy import rows

if TYPE_CHECKING:
    from tests.acceptance.host import Host

FOR_ALL_TEAMS = {"events_doomed", "events_sealedobject"}
"""Tables of work that belongs to no team: its rows are seen by nobody in particular."""
BEFORE_ITS_OWNER = {"events_journal"}
"""A row is nobody's until a run names it: then it is that run's team's."""
OF_THE_HOST = {
    "runtimes_filedirectory", "events_epoch", "runs_pushkey", "runs_worker", "teams_operatorkey",
}  # fmt: skip
"""The host's own rows, which belong to no run or thread of any team."""
READ_BY_ALL = {"teams_team"}
"""Something may be shared with a team that one knows the id of."""
MODELS = row_security.owned()
EVERY_TABLE = pytest.mark.parametrize(
    "model",
    [model for model in MODELS if model._meta.db_table not in OF_THE_HOST],
    ids=lambda model: model._meta.db_table,
)
CATALOG = """
select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
   and not relispartition and relrowsecurity
"""
COLUMNS = "select table_name from information_schema.columns where column_name = 'team_id'"

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(cast: Cast) -> dict[Team, Run]:
    """A row of each team in each table."""
    return {
        cast.team: rows.fill(cast.team, cast.alice.user),
        cast.other_team: rows.fill(cast.other_team, cast.charlie.user),
    }


def ask(statement: str, *values: Any) -> list[Any]:
    """The rows of raw SQL."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def change(statement: str, *values: Any) -> int:
    """How many rows raw SQL changed; nothing stays changed."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        transaction.set_rollback(True)
        return int(cursor.rowcount)


@contextmanager
def refused(kind: type[Exception] = InsufficientPrivilege) -> Iterator[None]:
    """PostgreSQL itself says no."""
    with pytest.raises(DatabaseError) as error, transaction.atomic():
        yield
    assert isinstance(error.value.__cause__, kind), error.value


def where(model: type[Model], team: Team, run: Run) -> str:
    """The rows of a team, as its owner knows them."""
    names = {field.column for field in model._meta.concrete_fields}
    if model is Team:
        return f"id = '{team.pk}'"
    if "team_id" in names:
        return f"team_id = '{team.pk}'"
    if "thread_id" in names:
        return f"thread_id = '{run.thread_id}'"
    key = next((name for name in ("journal_id", "run_id") if name in names), "id")
    return f"{key} = '{run.pk}'"


@EVERY_TABLE
def test_another_teams_rows_are_out_of_reach(
    model: type[Model], cast: Cast, runs: dict[Team, Run]
) -> None:
    """Neither read nor changed nor deleted nor made, whatever the statement names."""
    table = model._meta.db_table
    ours, theirs = (where(model, team, run) for team, run in runs.items())
    count = "select count(*) from {} where {}"
    assert ask(count.format(table, theirs)) != [(0,)], f"rows.fill makes no row of {table}"
    (row,) = ask(f"select to_jsonb({table}) from {table} where {theirs} limit 1")
    fields = [f for f in model._meta.concrete_fields if not f.generated]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    values = ", ".join(f'(t)."{field.column}"' for field in fields)
    key = fields[-1].column

    with scope.limited(cast.team.pk):
        visible = ask(f"select count(*) from {table}") != [(0,)]
        assert visible == (table not in FOR_ALL_TEAMS)
        if table not in READ_BY_ALL:
            assert ask(count.format(table, theirs)) == [(0,)]
            assert ask(f"select count(*) from {table} where not ({ours})") == [(0,)]
        if table != "teams_auditentry":
            assert change(f'update {table} set "{key}" = "{key}" where {theirs}') == 0
            assert bool(change(f'update {table} set "{key}" = "{key}" where {ours}')) == visible
        assert change(f"delete from {table} where {theirs}") == 0
        with refused(UniqueViolation if table in BEFORE_ITS_OWNER else InsufficientPrivilege):
            ask(
                f"insert into {table} ({columns}) select {values} from "
                f"jsonb_populate_record(null::{table}, %s) t",
                row[0],
            )
        if "team_id" in {field.column for field in fields}:
            with refused():
                ask(f"update {table} set team_id = %s", cast.other_team.pk)
    with scope.limited():
        if table not in READ_BY_ALL:
            assert ask(f"select count(*) from {table}") == [(0,)]
    assert ask(count.format(table, theirs)) != [(0,)]


def test_the_hosts_own_rows_are_out_of_reach(cast: Cast) -> None:
    FileDirectory.objects.create(mark=cast.team.pk)
    with scope.limited(cast.team.pk):
        assert ask("select count(*) from runtimes_filedirectory") == [(0,)]
        assert change("update runtimes_filedirectory set mark = mark") == 0
        assert change("delete from runtimes_filedirectory") == 0
    with scope.everywhere():
        assert ask("select count(*) from runtimes_filedirectory") == [(1,)]


def test_every_table_of_teams_has_a_policy(db: None) -> None:
    """Also one that no model tells of."""
    secured = {name for (name,) in ask(CATALOG)}
    assert secured == {model._meta.db_table for model in MODELS}
    assert {name for (name,) in ask(COLUMNS)} <= secured
    with connection.cursor() as cursor:
        cursor.execute("select txid_current_if_assigned()")
        before = cursor.fetchone()
        for model in MODELS:
            row_security._protect(model, *_roles())
        cursor.execute("select txid_current_if_assigned()")
        assert cursor.fetchone() == before, "a second migrate changes and locks nothing"


@EVERY_TABLE
def test_a_policy_looks_up_the_owners_of_the_rows_that_it_sees(
    model: type[Model], cast: Cast
) -> None:
    """It reads the owners one by one, not all of the team's, which may be a million."""
    with scope.limited(cast.team.pk):
        plan = ask(f"explain select * from {model._meta.db_table}")
    assert "hashed SubPlan" not in str(plan)


def test_events_are_read_through_their_run(cast: Cast, runs: dict[Team, Run]) -> None:
    """The table is closed to the application; the function looks at the run first."""
    ours, theirs = (run.pk for run in runs.values())
    read = "select seq, payload from agui_events(%s, 0, 100)"
    with scope.limited(cast.team.pk):
        assert ask(read, ours) == [(0, "")], "the row that stands for a sealed log"
        assert ask(read, theirs) == []
        assert change("delete from events_sealedpart") == 1
        ask("delete from events_sealedpart")
        assert ask(read, ours) == [(1, "{}")]
        assert ask(read, theirs) == []
        for statement in (
            "select 1 from events_event",
            "select 1 from events_event_default",
            "delete from events_event",
            "update events_event set type = 'X'",
            f"insert into events_event values ('{ours}', 2, now(), '', '')",
            f"select agui_purge_events('{ours}', 0, 100)",
            f"select agui_purge_logs(array['{ours}'::uuid], array[0], array[100])",
            f"select agui_sealable_events('{ours}', 0, 100)",
            "select agui_drop_month('events_event_2020_01')",
            "select agui_make_month('events_event_2020_01', gen_random_uuid(), gen_random_uuid())",
        ):
            with refused():
                ask(statement)
    assert ask("select count(*) from events_event where journal_id = %s", ours) == [(1,)]


def test_nothing_of_a_scope_stays(cast: Cast, runs: dict[Team, Run]) -> None:
    """Not after the block, an error, a rollback or a cursor of the server's, nor in a thread."""
    one = {cast.team.pk}

    def teams() -> set[UUID]:
        return {key for (key,) in ask("select team_id from runs_run")}

    with scope.limited(cast.team.pk):
        assert teams() == one
        with refused():
            ask("select 1 from events_event")
        with scope.everywhere():
            assert len(teams()) == 2
            with transaction.atomic():
                assert len(teams()) == 2
                transaction.set_rollback(True)
        assert teams() == one
        assert {run.team_id for run in Run.objects.unscoped("a test").iterator()} > one
        assert {run.team_id for run in Run.objects.iterator()} == one
        scope.reach(cast.other_team.pk)
        assert len(teams()) == 2
    with scope.limited(cast.other_team.pk):
        assert teams() == {cast.other_team.pk}
    with scope.limited():
        assert teams() == set()


def test_the_roles_may_do_little(cast: Cast) -> None:
    """No superuser, owner of nothing: the audit log's trigger stays on, and nobody edits a line."""
    flags = ask(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolinherit from pg_roles"
        " where rolname = any(%s)", list(_roles()),
    )  # fmt: skip
    assert flags == [(False,) * 5] * 2
    owned = "select count(*) from pg_class where pg_get_userbyid(relowner) = any(%s)"
    assert ask(owned, list(_roles())) == [(0,)]
    with scope.limited(cast.team.pk):
        for statement in (
            "alter table teams_auditentry disable trigger all",
            "alter table teams_auditentry disable row level security",
            "drop policy agui_team on teams_auditentry",
            "set local session_replication_role = replica",
            "set local row_security = off; select 1 from teams_auditentry",
            "update teams_auditentry set who = 'nobody'",
            "truncate teams_auditentry",
        ):
            with refused():
                ask(statement)
        with pytest.raises(Exception, match="append-only"), transaction.atomic():
            ask("delete from teams_auditentry")


def test_an_owner_who_may_make_no_roles_is_told(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's own scoping goes on; what PostgreSQL said is in one line of ``migrate``."""
    ask("create role plain")
    ((owner,),) = ask("select quote_ident(current_user)")
    ask(f"grant {owner} to plain")  # It has the rights of what owns all, but no CREATEROLE.
    monkeypatch.setattr(row_security, "name", lambda database, part: f"new_{part}")
    monkeypatch.setattr(connection.connection, "restricted", False)  # it would be the owner again
    with transaction.atomic():
        ask("set local role plain")
        reason = row_security.apply()
        transaction.set_rollback(True)
    assert reason
    assert "permission denied to create role" in reason
    assert "\n" not in reason


def test_what_an_administrator_let_in_stays_as_it_is(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner without CREATEROLE cannot let a role in, and need not where it may log in."""
    ask("create role plain")
    ask("create role let_in login noinherit")
    ask("create role left_out noinherit")
    monkeypatch.setattr(connection.connection, "restricted", False)
    with transaction.atomic():
        ask("set local role plain")
        row_security._let_in("let_in")
        with refused():
            row_security._let_in("left_out")
        transaction.set_rollback(True)


def test_web_and_worker_have_no_other_role(host: "Host") -> None:
    """In the embedded database they log in with it: there is nothing to go back to."""
    logins = host.python(
        "import os\nfrom django.db import connection\nos.environ['PGAPPNAME'] = 'test'\n"
        "cursor = connection.cursor()\n"
        "cursor.execute('select distinct usename from pg_stat_activity where usename is not null "
        "and backend_type = %s and application_name <> %s', ['client backend', 'test'])\n"
        "print(cursor.fetchall())"
    )
    assert logins.strip() == "[('postgres_app',)]"


def _roles() -> tuple[str, str]:
    database = connection.settings_dict["NAME"]
    return roles.name(database, roles.APPLICATION), roles.name(database, roles.WRITER)
