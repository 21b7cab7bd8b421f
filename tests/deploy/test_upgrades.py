"""Migrations after a release: the version before goes on working beside them, and nothing waits."""

from typing import Any

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

RELEASED: dict[str, str] = {}
"""The newest migration of each room in the newest release (docs/versions.md)."""
ROOMS = ("events", "runs", "runtimes", "teams")
GOES_LATER = (
    migrations.RemoveField, migrations.DeleteModel, migrations.RenameField, migrations.RenameModel,
)  # fmt: skip


def faults(operations: list[Any]) -> list[str]:
    """The mistakes of a migration beside which a host serves, a line each."""
    made = {each.name.lower() for each in operations if isinstance(each, migrations.CreateModel)}
    lines = []
    for each in operations:
        name, is_new = type(each).__name__, getattr(each, "model_name", "").lower() in made
        if isinstance(each, GOES_LATER):
            lines.append(f"{name}: the version before still uses it; one release later")
        elif isinstance(each, migrations.AddField) and not is_new:
            field = each.field
            if not field.null and field.db_default is models.NOT_PROVIDED:
                lines.append(
                    f"{name} {each.name}: the version before gives it no value: db_default"
                )
        elif isinstance(each, migrations.AddIndex) and not is_new:
            if not isinstance(each, AddIndexConcurrently):
                lines.append(f"{name}: it blocks writers: AddIndexConcurrently")
        elif isinstance(each, migrations.AddConstraint) and not is_new:
            if not isinstance(each, AddConstraintNotValid):
                lines.append(f"{name}: it reads all rows under a lock: AddConstraintNotValid")
        elif isinstance(each, migrations.RunPython) and each.reverse_code is None:
            lines.append(f"{name}: it cannot be taken back: reverse_code")
    return lines


def test_migrations_since_the_newest_release() -> None:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    wrong = {
        f"{app}.{name}": lines
        for (app, name), migration in loader.disk_migrations.items()
        if app in ROOMS and name > RELEASED.get(app, "9999")
        if (lines := faults(migration.operations))
    }
    assert wrong == {}


def nothing(*_: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        (migrations.RemoveField("run", "result"), "one release later"),
        (migrations.RenameModel("run", "job"), "one release later"),
        (migrations.AddField("run", "colour", models.TextField(default="")), "db_default"),
        (migrations.AddField("run", "colour", models.TextField(null=True)), None),
        (migrations.AddField("run", "colour", models.TextField(db_default="")), None),
        (migrations.AddIndex("run", models.Index(fields=["status"], name="i")), "Concurrently"),
        (AddIndexConcurrently("run", models.Index(fields=["status"], name="i")), None),
        (
            migrations.AddConstraint(
                "run", models.CheckConstraint(condition=models.Q(attempt__gt=0), name="c")
            ),
            "NotValid",
        ),
        (migrations.RunPython(nothing), "reverse_code"),
        (migrations.RunPython(nothing, nothing), None),
    ],
)
def test_a_planted_fault_is_found(operation: Any, fault: str | None) -> None:
    lines = faults([operation])
    assert (fault is None) == (lines == [])
    assert fault is None or fault in lines[0]


def test_a_table_of_the_same_migration_may_have_anything() -> None:
    table = migrations.CreateModel("Thing", [("id", models.AutoField(primary_key=True))])
    index = migrations.AddIndex("thing", models.Index(fields=["id"], name="i"))
    assert faults([table, index]) == []
