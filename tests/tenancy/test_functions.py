"""The functions of the database: who may execute them, and that none works without a scope."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, transaction
from psycopg.errors import InsufficientPrivilege

from agui_host.teams import row_security
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db

OURS = """
select p.oid::regprocedure::text, p.proname, p.prosecdef, p.proconfig, p.pronargs,
       has_function_privilege('public', p.oid, 'execute')
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = current_schema()
   and (p.prosecdef or p.proname !~ '^procrastinate_')
   and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
"""
TAKE = "select * from agui_take_due_runs(1, '{default}', now(), 1, true)"
TAKE_BEFORE = "select * from agui_take_runs(1, '{default}', now(), 1)"
PLACE = "select * from agui_place_handed(%s, null, 1, 1, '', '', 1, 1, null)"
START = f"select * from agui_start_handed(%s, {', '.join(['null'] * 28)})"  # noqa: S608


def ask(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture(autouse=True)
def unrestricted(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """Statements of a test keep the role that the test takes."""
    monkeypatch.setattr(connection.connection, "restricted", False)


@contextmanager
def anybody(role: str = "anybody", scope: str | None = None) -> Iterator[None]:
    """Somebody who may connect and nothing else, whose connection has this scope, or none."""
    ask(f"create role {role}")
    with transaction.atomic():
        ask(f"set local role {role}")
        if scope is None:
            ask("reset agui.teams")
        else:
            ask("select set_config('agui.teams', %s, true)", scope)
        yield
        transaction.set_rollback(True)


def error_of(statement: str, *values: Any) -> Any:
    with pytest.raises(DatabaseError) as error, transaction.atomic():
        ask(statement, *values)
    return error.value.__cause__


def test_public_may_execute_none_of_ours() -> None:
    rows = ask(OURS)
    assert {"agui_start", "agui_take_due_runs", "runs_uuid7"} <= {name for _, name, *_ in rows}
    assert [signature for signature, *_, is_public in rows if is_public] == []


def test_a_function_with_its_owners_rights_looks_up_names_in_fixed_schemas() -> None:
    definers = [(name, settings) for _, name, is_definer, settings, *_ in ask(OURS) if is_definer]
    assert definers
    assert [
        name
        for name, settings in definers
        if not any(setting.startswith("search_path=") for setting in settings or ())
    ] == []


def test_a_function_that_comes_later_is_closed_by_the_next_migrate() -> None:
    ask("create function agui_later() returns integer language sql as 'select 1'")
    assert any(is_public for _, name, *_, is_public in ask(OURS) if name == "agui_later")
    assert row_security.apply() is None
    test_public_may_execute_none_of_ours()


def test_functions_of_ours_that_another_role_owns_stop_a_migration() -> None:
    """What we cannot revoke is named, with its owner and a remedy."""
    ask("create role stranger")
    ask("create role owner_of_the_host")
    ask("create function agui_late() returns integer language sql as 'select 1'")
    for signature, *_ in ask(OURS):
        ask(f"alter function {signature} owner to owner_of_the_host")
    ask("alter function agui_late() owner to stranger")
    with transaction.atomic():
        ask("set local role owner_of_the_host")
        with pytest.raises(CommandError, match=r"agui_late\(\) of stranger\. .*owner to"):
            row_security.apply()
        transaction.set_rollback(True)


def test_the_scope_is_read_in_one_place() -> None:
    """Policies, views and functions call the functions of agui_host/teams/sql/scope.sql."""
    readers = [(name,) for name in ("agui_reached", "agui_reaches_all")]
    setting = "%agui.teams%"
    of_functions = "select proname from pg_proc where prosrc like %s order by 1"
    assert ask(of_functions, setting) == readers
    assert ask("select viewname from pg_views where definition like %s", setting) == []
    of_policies = "select policyname, tablename from pg_policies where concat(qual, with_check)"
    assert ask(f"{of_policies} like %s", setting) == []
    assert len(ask(f"{of_policies} like %s", "%agui_reaches_all()%")) > 20


@pytest.mark.parametrize("scope", [None, "*"])
def test_who_may_only_connect_starts_and_takes_nothing(cast: Cast, scope: str | None) -> None:
    start(cast.alice)
    with anybody(scope=scope):
        assert isinstance(error_of(TAKE), InsufficientPrivilege)
        assert isinstance(error_of(TAKE_BEFORE), InsufficientPrivilege)
        assert isinstance(error_of(START, cast.team.pk), InsufficientPrivilege)
        assert isinstance(error_of(PLACE, cast.team.pk), InsufficientPrivilege)


def test_without_a_scope_no_function_reaches_a_team(cast: Cast) -> None:
    """Even for the owner, who may execute all of them."""
    run = start(cast.alice)
    with anybody("careless"):
        ask("reset role")
        ask("reset agui.teams")
        assert ask("select agui_reaches(%s), agui_reaches(null)", cast.team.pk) == [(False, False)]
        assert ask("select agui_sees(%s)", run.pk) == [(False,)]
        for statement, values in (
            (TAKE, []),
            (TAKE_BEFORE, []),
            (START, [cast.team.pk]),
            (PLACE, [cast.team.pk]),
            ("select agui_purge_events(%s, 0, 1)", [run.pk]),
            ("select agui_purge_logs(array[%s::uuid], array[0], array[1])", [run.pk]),
            ("select agui_forget_person('user:1', 'user:alice', 'x', '{}')", []),
        ):
            assert "scope" in str(error := error_of(statement, *values)) or "all teams" in str(
                error
            )


@pytest.mark.parametrize(
    ("scope", "reaches"),
    [("", False), ("*", True), ("018f0000-0000-7000-8000-000000000000", False), (None, False)],
)
def test_a_scope_reaches_its_teams(cast: Cast, scope: str | None, reaches: bool) -> None:
    with transaction.atomic():
        ask("select set_config('agui.teams', %s, true)", scope)
        assert ask("select agui_reaches(%s)", cast.team.pk) == [(reaches,)]
        ask("select set_config('agui.teams', %s, true)", f"{uuid4()},{cast.team.pk}")
        assert ask("select agui_reaches(%s), agui_reaches(null)", cast.team.pk) == [(True, False)]
