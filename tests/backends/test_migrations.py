"""Databases of before the squash are carried over or refused; a new one has all that models say."""

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

pytestmark = pytest.mark.django_db


def forget_squashed() -> list[tuple[str, str]]:
    """Record what a database of before has recorded; returns the names."""
    recorder, loader = MigrationRecorder(connection), MigrationLoader(connection)
    former = []
    for (app, name), squashed in loader.replacements.items():
        if app in ("events", "runs", "runtimes", "teams"):
            recorder.record_unapplied(app, name)
            for key in squashed.replaces:
                recorder.record_applied(*key)
                former.append(key)
    return former


def test_the_newest_of_before_is_carried_over() -> None:
    """With its functions: no name that it has recorded makes it a newer release's."""
    assert len(forget_squashed()) == 99
    with connection.cursor() as cursor:
        cursor.execute("comment on function agui_reached() is null")
        call_command("migrate", interactive=False, verbosity=0)
        cursor.execute("select obj_description('agui_reached()'::regprocedure)")
        assert cursor.fetchone()[0].startswith("agui-host ")
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


def test_an_older_one_is_refused_with_a_word_on_what_to_do() -> None:
    app, name = forget_squashed()[-1]
    MigrationRecorder(connection).record_unapplied(app, name)
    with pytest.raises(CommandError, match="Check out fef7c667"):
        call_command("migrate", interactive=False, verbosity=0)


def test_the_database_has_each_constraint_and_index_of_the_models() -> None:
    """Django drops a conditional constraint along with the index of its single column."""
    with connection.cursor() as cursor:
        for model in apps.get_models():
            stored = connection.introspection.get_constraints(cursor, model._meta.db_table)
            meta = [*model._meta.constraints, *model._meta.indexes]
            assert {each.name for each in meta} - stored.keys() == set(), model
