"""The database's functions and triggers are those of the files, whichever way it was made."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from agui_host.backends.postgres.functions import install, sql_files
from agui_host.teams.management import recorded

pytestmark = pytest.mark.django_db

OURS = """
select p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proname
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = current_schema() and p.proname ~ '^(agui|events|runs|runtimes|teams)_'
 order by 1
"""
TRIGGERS = """
select t.tgname, pg_get_triggerdef(t.oid), t.tgrelid::regclass::text from pg_trigger t
 where not t.tgisinternal and t.tgname ~ '^(agui|events|runs|runtimes|teams)_' order by 1
"""
OF_PROCRASTINATE = OURS.replace("(agui|events|runs|runtimes|teams)", "procrastinate")
BEGINNING = """-- Planted.
-- planner: enable_seqscan=off enable_hashjoin=off
"""
PLANTED = """
-- A number.
create function agui_planted() returns integer language sql stable security definer as $$
    select 1
$$;
"""


def ask(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


class Planted:
    """One more file, which a test changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write(PLANTED)

    def write(self, statements: str, header: str = "") -> None:
        self.path.write_text(f"{BEGINNING}{header}{statements}")

    @staticmethod
    def rows() -> list[Any]:
        return ask(
            "select prosrc, proconfig, provolatile, prosecdef, oid::text, xmin::text from pg_proc"
            " where proname = 'agui_planted'"
        )


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planted:
    paths = [*sql_files.paths(), tmp_path / "planted.sql"]
    monkeypatch.setattr(sql_files, "paths", lambda: paths)
    return Planted(tmp_path / "planted.sql")


def test_the_files_alone_make_the_same() -> None:
    functions, triggers = ask(OURS), ask(TRIGGERS)
    for name, _, table in triggers:
        ask(f"drop trigger {name} on {table}")
    for signature, _, name in functions:
        if name not in sql_files.read().former:
            ask(f"drop function {signature} cascade")
    install.install()
    assert ask(OURS) == functions
    assert ask(TRIGGERS) == triggers


def test_each_function_has_one_body_in_the_database() -> None:
    names = [name for *_, name in ask(OURS)]
    assert len(names) == len(set(names)) > 40
    files = sql_files.read()
    # A former one is only in a database that the previous release has made.
    assert set(names) - files.former == {each.name for each in files.functions}
    assert {row[0] for row in ask(TRIGGERS)} == {each.name for each in files.triggers}


def test_a_second_migrate_touches_nothing() -> None:
    install.install()
    versions = "select oid::text, xmin::text from pg_proc union all select oid::text, xmin::text"
    versions += " from pg_trigger union all select objoid::text, xmin::text from pg_description"
    before = ask(f"{versions} order by 1, 2")
    assert install.install() == install.Changes([], [])
    assert ask(f"{versions} order by 1, 2") == before


def test_a_changed_file_is_installed_at_the_next_migrate(
    planted: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("migrate", verbosity=0)
    ((body, settings, *_, oid, _),) = planted.rows()
    assert body.strip() == "select 1"
    assert settings == ["search_path=public, pg_temp", "enable_seqscan=off", "enable_hashjoin=off"]
    planted.write(PLANTED.replace("select 1", "select 2"))
    assert install.install() == install.Changes(["agui_planted"], [])
    assert ask("select agui_planted()") == [(2,)]
    ((_, same_settings, volatility, is_definer, same_oid, _),) = planted.rows()
    assert (same_settings, same_oid) == (settings, oid)
    assert (volatility, is_definer) == ("s", True)


def test_what_a_replacement_loses_comes_back() -> None:
    """``create or replace`` without the settings resets them, and keeps the comment."""
    (before,) = [text for _, text, name in ask(OURS) if name == "agui_settle"]
    lines = [line for line in before.splitlines() if not line.startswith(" SET ")]
    ask("\n".join(lines))
    assert install.install().installed == ["agui_settle"]
    assert before in [text for _, text, _ in ask(OURS)]


def test_a_new_function_is_closed_to_public_and_open_to_the_application(planted: Planted) -> None:
    call_command("migrate", verbosity=0)
    rights = "select has_function_privilege(%s, 'agui_planted()', 'execute')"
    application = f"{connection.settings_dict['NAME']}_app"
    assert [ask(rights, role) for role in ("public", application)] == [[(False,)], [(True,)]]


def test_a_new_function_is_open_with_the_functions_that_call_it(planted: Planted) -> None:
    """Before the rest of the rights: processes of the previous release serve meanwhile."""
    install.install()
    rights = "select has_function_privilege(%s, 'agui_planted()', 'execute')"
    application = f"{connection.settings_dict['NAME']}_app"
    assert [ask(rights, role) for role in ("public", application)] == [[(False,)], [(True,)]]


def test_what_no_file_has_is_dropped_but_for_strangers_and_former_ones(planted: Planted) -> None:
    trigger = "create trigger runs_planted after update on runs_run for each row\n"
    trigger += "    execute function runs_file_referred();\n"
    former = PLANTED.replace("agui_planted", "agui_retired")
    planted.write(f"{PLANTED}{former}\n{trigger}")
    ask("create function agui_of_an_operator() returns integer language sql as 'select 1'")
    queue = ask(OF_PROCRASTINATE)
    install.install()
    planted.write("", header="-- former: agui_retired\n")
    assert install.install() == install.Changes([], ["runs_planted", "agui_planted"])
    names = {name for *_, name in ask(OURS)}
    assert {"agui_retired", "agui_of_an_operator"} <= names
    planted.write("")
    assert install.install().dropped == ["agui_retired"]
    assert ask(OF_PROCRASTINATE) == queue


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (PLANTED.replace("returns integer", "returns text"), "new name"),
        (PLANTED.replace("select 1", "select nothing"), "nothing"),
        (PLANTED.replace("language sql", "language plpgsql"), "syntax error"),
    ],
)
def test_what_postgresql_refuses_names_its_file(planted: Planted, text: str, error: str) -> None:
    install.install()
    planted.write(text)
    with pytest.raises(CommandError, match=rf"planted\.sql: agui_planted: .*{error}"):
        install.install()
    assert ask("select agui_planted()") == [(1,)]


def test_functions_may_call_others_that_come_later(planted: Planted) -> None:
    planted.write(PLANTED.replace("select 1", "select agui_z()") + PLANTED.replace("planted", "z"))
    install.install()
    assert ask("select agui_planted()") == [(1,)]


def test_a_migration_can_install_a_function_before_its_tables(planted: Planted) -> None:
    planted.write(PLANTED.replace("select 1", "select count(*)::integer from runs_later"))
    operation, state = install.early("agui_planted"), ProjectState()
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("runs", editor, state, state)
    assert len(planted.rows()) == 1
    ask("create table runs_later (id integer)")
    install.install()
    assert ask("select agui_planted()") == [(0,)]


def test_a_constraint_trigger_changes(planted: Planted) -> None:
    trigger = """
create constraint trigger runs_planted after update on runs_run
    deferrable initially deferred for each row execute function runs_file_referred();
"""
    planted.write(trigger)
    install.install()
    planted.write(trigger.replace("after update", "after insert"))
    assert install.install().installed == ["runs_planted"]
    assert "AFTER INSERT" in next(text for name, text, _ in ask(TRIGGERS) if name == "runs_planted")


@pytest.mark.parametrize("is_newer", [False, True])
def test_a_database_of_another_release_is_left_alone(planted: Planted, is_newer: bool) -> None:
    """Without the newest migration, after ``migrate runs zero``; or of a newer release."""
    assert recorded.is_newest("default")
    recorder = MigrationRecorder(connection)
    if is_newer:
        recorder.record_applied("runs", "9999_newer")
    else:
        recorder.migration_qs.filter(app="runs").delete()
    assert not recorded.is_newest("default")
    call_command("migrate", "teams", verbosity=0)
    assert planted.rows() == []
