"""Databases of earlier commits are carried over or refused; a new one has all that models say."""

import os
import subprocess
import sys
from collections.abc import Callable

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from agui_host.backends.postgres.functions.sql_files import APPS
from agui_host.doctor.checks import migrations
from agui_host.teams.management import recorded
from tests.agui_project.test_unmigrated import foreign
from tests.house.repository import ROOT

__all__ = ["foreign"]
pytestmark = pytest.mark.django_db
Key = tuple[str, str]
BEFORE_17386624 = {
    "events": "0008_sealed_logs", "runs": "0041_pieces", "runtimes": "0011_on_code_change",
    "teams": "0005_operator_keys",
}  # fmt: skip
"""The last name of each app that a database of commit fef7c667 has recorded."""


def replaced(app: str) -> list[Key]:
    """The names that a database of an earlier commit has recorded, in order."""
    return list(MigrationLoader(None).disk_migrations[app, "0001_schema"].replaces)


def since_fef7c667(app: str) -> list[Key]:
    """Those of them that were added, a migration each, between commits fef7c667 and 17386624."""
    keys = replaced(app)
    return keys[keys.index((app, BEFORE_17386624[app])) + 1 :]


def forget(*keys: Key) -> None:
    for key in keys:
        MigrationRecorder(connection).record_unapplied(*key)


def names() -> set[Key]:
    return set(MigrationRecorder(connection).applied_migrations())


def test_each_name_that_a_database_of_earlier_commits_has_is_known() -> None:
    """Without one of them, the commit before would take a new database for an empty one."""
    assert {app: len(since_fef7c667(app)) for app in APPS} == {
        "events": 0, "runs": 17, "runtimes": 4, "teams": 2,
    }  # fmt: skip
    assert sum(len(replaced(app)) for app in APPS) == 99 + 17 + 4 + 2
    assert {key for app in APPS for key in replaced(app)} < names()


def test_the_newest_of_before_is_carried_over() -> None:
    """With its functions: no name that it has recorded makes it a newer release's.

    The names stay, since the commit before looks for them after the way back.
    """
    before = names()
    assert migrations.migrations() == "all are applied"
    call_command("migrate", check_unapplied=True, verbosity=0)  # exits with 1 if one is missing
    with connection.cursor() as cursor:
        cursor.execute("comment on function agui_reached() is null")
        call_command("migrate", interactive=False, verbosity=0)
        cursor.execute("select obj_description('agui_reached()'::regprocedure)")
        assert cursor.fetchone()[0].startswith("agui-host ")
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert names() == before


def test_so_is_one_that_has_the_names_but_not_the_one_that_replaces_them() -> None:
    forget(*((app, "0001_schema") for app in APPS))
    assert migrations.migrations() == "all are applied"
    call_command("migrate", interactive=False, verbosity=0)
    assert {(app, "0001_schema") for app in APPS} <= names()


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(lambda: since_fef7c667("runs")[-1:], id="all but the last"),
        pytest.param(lambda: since_fef7c667("runs"), id="the first migration of runs alone"),
        pytest.param(lambda: since_fef7c667("runtimes")[1:], id="of runtimes"),
        pytest.param(lambda: since_fef7c667("teams"), id="of teams"),
        pytest.param(
            lambda: [
                *((app, "0001_schema") for app in APPS),
                *(key for app in APPS for key in since_fef7c667(app)),
            ],
            id="commit fef7c667",
        ),
        pytest.param(lambda: replaced("runs")[53:], id="before fef7c667"),
    ],
)
def test_one_in_between_is_refused_with_the_commit_to_migrate_with(
    gone: Callable[[], list[Key]],
) -> None:
    forget(*gone())
    before = names()
    for options in ({}, {"check_unapplied": True}, {"plan": True}):
        with pytest.raises(CommandError, match="Check out 17386624, let its `migrate` finish"):
            call_command("migrate", interactive=False, verbosity=0, **options)
    assert migrations.migrations() == [(recorded.IN_BETWEEN, recorded.FIRST)]
    assert names() == before


@pytest.mark.parametrize("command", [("migrate",), ("up", "--no-web", "--no-worker")])
def test_a_start_refuses_it_in_one_line(foreign: str, command: tuple[str, ...]) -> None:
    address = foreign.replace("postgres://postgres@", "postgresql://postgres@")
    with psycopg.connect(address, autocommit=True) as session:
        session.execute(
            "create table django_migrations (id int, app text, name text, applied timestamptz)"
        )
        for app, name in [("runs", "0001_schema"), *replaced("runs")[:-1]]:
            session.execute("insert into django_migrations values (1, %s, %s, now())", (app, name))
    env = {**os.environ, "DATABASE_URL": foreign, "REDIS_URL": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"CommandError: {recorded.IN_BETWEEN} {recorded.FIRST}"
    with psycopg.connect(address) as session:
        ours = "select count(*) from pg_tables where schemaname = 'public'"
        assert session.execute(ours).fetchone() == (1,)


def test_the_database_has_each_constraint_and_index_of_the_models() -> None:
    """Django drops a conditional constraint along with the index of its single column."""
    with connection.cursor() as cursor:
        for model in apps.get_models():
            stored = connection.introspection.get_constraints(cursor, model._meta.db_table)
            meta = [*model._meta.constraints, *model._meta.indexes]
            assert {each.name for each in meta} - stored.keys() == set(), model
