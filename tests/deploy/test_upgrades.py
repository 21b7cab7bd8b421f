"""Migrations after a release: the version before goes on working beside them, and nothing waits."""

from typing import Any

import pytest
from django.contrib.postgres.functions import RandomUUID
from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    ValidateConstraint,
)
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.db.models.functions import Now

from tests.deploy.migration_rules import Column, Judge

RELEASED: dict[str, str] = {}
"""The newest migration of each room in the newest release (docs/versions.md)."""
ROOMS = ("events", "runs", "runtimes", "teams")


def judged(released: dict[str, str]) -> list[str]:
    """The mistakes of all migrations since then, a line each."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    judge, lines = Judge(ProjectState()), []
    done: set[tuple[str, str]] = set()
    for leaf in sorted(loader.graph.leaf_nodes()):
        for key in loader.graph.forwards_plan(leaf):
            if key in done:
                continue
            done.add(key)
            app, name = key
            migration = loader.disk_migrations[key]
            if app in ROOMS and name > released.get(app, "9999"):
                faults = judge.faults(app, migration.operations, f"{app}.{name}")
                lines += [f"{app}.{name}: {fault}" for fault in faults]
            else:
                judge.state = migration.mutate_state(judge.state, preserve=False)
    return lines + judge.unproven()


def test_migrations_since_the_newest_release() -> None:
    assert judged(RELEASED) == []


def test_migrations_since_the_first_ones_are_judged_with_their_state() -> None:
    """As if those were a release: the walk reaches all rooms, and knows each field before."""
    lines = judged(dict.fromkeys(ROOMS, "0001_schema"))
    assert all(line.startswith("runs.") for line in lines)
    assert [line for line in lines if "0004" in line or "0005" in line] == []


def nothing(*_: Any) -> None:
    pass


def thing() -> ProjectState:
    """A released table."""
    fields: list[tuple[str, Column]] = [
        ("id", models.BigAutoField(primary_key=True)),
        ("word", models.CharField(max_length=20, default="", db_default="")),
        ("note", models.TextField(null=True)),
        ("count", models.IntegerField(default=0, db_default=0)),
        ("price", models.DecimalField(max_digits=8, decimal_places=2, null=True)),
        ("size", models.IntegerField(default=1)),
        ("other", models.ForeignKey("app.thing", models.CASCADE, null=True, db_constraint=False)),
    ]
    state = ProjectState()
    state.add_model(ModelState("app", "Thing", fields))
    return state


def to(name: str, field: Column) -> migrations.AlterField:
    return migrations.AlterField("thing", name, field)


def apart(*operations: Any, state: Any = ()) -> migrations.SeparateDatabaseAndState:
    return migrations.SeparateDatabaseAndState(operations, state)


POSITIVE = models.CheckConstraint(condition=models.Q(count__gte=0), name="c")
INDEX = models.Index(fields=["count"], name="i")


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        (migrations.RemoveField("thing", "note"), "one release later"),
        (migrations.RenameModel("thing", "object"), "one release later"),
        (migrations.AlterModelTable("thing", "other_name"), "one release later"),
        (migrations.AddField("thing", "colour", models.TextField(default="")), "db_default"),
        (migrations.AddField("thing", "colour", models.TextField(null=True)), None),
        (migrations.AddField("thing", "colour", models.TextField(db_default="")), None),
        (migrations.AddField("thing", "at", models.DateTimeField(db_default=Now())), None),
        (migrations.AddField("thing", "key", models.UUIDField(db_default=RandomUUID())), "rewrite"),
        (migrations.AddField("thing", "key", models.TextField(null=True, unique=True)), "index"),
        (migrations.AddIndex("thing", INDEX), "Concurrently"),
        (AddIndexConcurrently("thing", INDEX), None),
        (migrations.AddConstraint("thing", POSITIVE), "NotValid"),
        (AddConstraintNotValid("thing", POSITIVE), "NOT VALID for good"),
        (migrations.AlterUniqueTogether("thing", {("word", "count")}), "under a lock"),
        (migrations.RunPython(nothing), "reverse_code"),
        (migrations.RunPython(nothing, nothing), None),
        # --- a column that changes
        (to("word", models.CharField(max_length=40, db_default="")), None),
        (to("word", models.TextField(db_default="")), None),
        (to("word", models.CharField(max_length=10, db_default="")), "refuses what the version"),
        (to("word", models.CharField(max_length=20, default="")), "keep db_default"),
        (to("word", models.CharField(max_length=20, db_default="", unique=True)), "index"),
        (to("note", models.TextField(default="", db_default="")), "writes null"),
        (to("note", models.CharField(max_length=9, null=True)), "rewrites the table"),
        (to("note", models.TextField(null=True, help_text="Longer.")), None),
        (to("count", models.BigIntegerField(default=0, db_default=0)), "rewrites the table"),
        (to("count", models.IntegerField(db_default=0, db_index=True)), "Concurrently"),
        (to("price", models.DecimalField(max_digits=12, decimal_places=2, null=True)), None),
        (to("price", models.DecimalField(max_digits=12, decimal_places=4, null=True)), "rewrites"),
        (to("other", models.ForeignKey("app.thing", models.CASCADE, null=True)), "foreign key"),
        # --- raw SQL
        (migrations.RunSQL("select 1"), "reverse_sql"),
        (migrations.RunSQL("select 1; -- drop table it", migrations.RunSQL.noop), None),
        (migrations.RunSQL("alter table t alter column c type text", ""), "rewrite"),
        (migrations.RunSQL("alter table t alter c type text, alter column d set not null", ""),
         "NOT VALID constraint first"),
        (migrations.RunSQL("alter table t add constraint c check (x > 0)", ""), "NOT VALID"),
        (migrations.RunSQL("alter table t add constraint c check (x > 0) not valid", ""), None),
        (migrations.RunSQL("CREATE UNIQUE INDEX i ON t (c)", ""), "concurrently"),
        (migrations.RunSQL("create index concurrently i on t (c)", ""), None),
        (migrations.RunSQL(["alter table t drop column c"], ""), "one release later"),
        (migrations.RunSQL([("update t set c = %s", [1])], ""), "portions"),
        (migrations.RunSQL("lock table t", ""), "locks the table"),
        # --- the state and the database by themselves
        (apart(migrations.AddIndex("thing", INDEX)), "Concurrently"),
        (apart(migrations.RunSQL("truncate t", "")), "locks the table"),
        (apart(apart(migrations.RemoveField("thing", "note"))), "one release later"),
        (apart(state=[migrations.RemoveField("thing", "note")]), None),
        (apart(state=[migrations.RemoveField("thing", "count")]), None),
        (apart(state=[migrations.RemoveField("thing", "size")]), "gives it no value"),
        (apart(state=[migrations.AddIndex("thing", INDEX)]), None),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(operation: Any, fault: str | None) -> None:
    judge = Judge(thing())
    lines = judge.faults("app", [operation]) + judge.unproven()
    assert (fault is None) == (lines == []), lines
    assert fault is None or any(fault in line for line in lines), lines


def test_a_constraint_is_validated_by_a_later_migration() -> None:
    add, validate = AddConstraintNotValid("thing", POSITIVE), ValidateConstraint("thing", "c")
    judge = Judge(thing())
    assert judge.faults("app", [add]) == []
    assert judge.faults("app", [validate]) == []
    assert judge.unproven() == []
    together = Judge(thing()).faults("app", [add, validate])
    assert together == ["ValidateConstraint: in a later migration, this one still holds its lock"]
    inside = Judge(thing())
    inside.faults("app", [apart(add, state=[add])])
    assert len(inside.unproven()) == 1


def test_an_earlier_change_counts() -> None:
    """A field is compared with the one before this operation, not with the release's."""
    judge = Judge(thing())
    wide = to("word", models.CharField(max_length=40, db_default=""))
    narrow = to("word", models.CharField(max_length=20, db_default=""))
    assert judge.faults("app", [wide]) == []
    assert "refuses what the version before writes" in judge.faults("app", [narrow])[0]


def test_a_table_of_the_same_migration_may_have_anything() -> None:
    table = migrations.CreateModel("Fresh", [("id", models.AutoField(primary_key=True))])
    index = migrations.AddIndex("fresh", models.Index(fields=["id"], name="i"))
    change = migrations.AlterField("fresh", "id", models.BigAutoField(primary_key=True))
    assert Judge(thing()).faults("app", [table, index, change]) == []
