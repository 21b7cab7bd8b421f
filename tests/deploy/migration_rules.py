"""Judges migrations beside which a host serves: the version before works on, and nothing waits."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    ValidateConstraint,
)
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED, Func
from django.db.models.functions import Now

GOES_LATER = (
    migrations.RemoveField, migrations.DeleteModel, migrations.RenameField, migrations.RenameModel,
    migrations.AlterModelTable,
)  # fmt: skip
SIZED = re.compile(r"(varchar|numeric)\((\d+)(?:, (\d+))?\)")
RAW = (
    (r"\bdrop\s+(table|column)\b|\brename\s+(to|column|constraint)\b",
     "the version before still uses it; one release later"),
    (r"\balter\s+column\s+\S+\s+(set\s+data\s+)?type\b", "it can rewrite the table under a lock"),
    (r"\bset\s+not\s+null\b", "it reads all rows under a lock: a NOT VALID constraint first"),
    (r"\badd\s+constraint\b(?!.*\bnot\s+valid\b)", "it reads all rows under a lock: NOT VALID"),
    (r"\bcreate\s+(unique\s+)?index\b(?!\s+concurrently\b)", "it blocks writers: concurrently"),
    (r"\b(lock\s+table|vacuum\s+full|cluster|truncate|reindex\s+(?!.*concurrently))\b",
     "it locks the table"),
    (r"\b(update\s+\w+\s+set|delete\s+from)\b",
     "it holds the locks of all its rows to the end: a command in portions"),
)  # fmt: skip
"""What raw SQL must not do, and the remedy."""


if TYPE_CHECKING:
    Column = models.Field[Any, Any]
else:
    Column = models.Field


class Judge:
    """Reads migrations in their order, with the state before each operation."""

    def __init__(self, state: ProjectState) -> None:
        self.state = state
        self._unproven: dict[tuple[str, str], str] = {}

    def faults(self, app: str, operations: Sequence[Any], name: str = "") -> list[str]:
        """The mistakes of the next migration, a line each."""
        made: set[str] = set()
        added: dict[tuple[str, str], str] = {}
        lines: list[str] = []
        for each in operations:
            lines += self._of(app, each, made, added, name)
        self._unproven |= added
        return lines

    def unproven(self) -> list[str]:
        """The constraints that no later migration has validated: old rows can break them."""
        return [
            f"{where}: {constraint} is NOT VALID for good: ValidateConstraint in a later migration"
            for (_, constraint), where in self._unproven.items()
        ]

    def _of(
        self, app: str, each: Any, made: set[str], added: dict[tuple[str, str], str], name: str
    ) -> Iterator[str]:
        if isinstance(each, migrations.SeparateDatabaseAndState):
            yield from self._separate(app, each, made, added, name)
            return
        if isinstance(each, migrations.CreateModel):
            made.add(each.name.lower())
        model = getattr(each, "model_name", getattr(each, "name", "")).lower()
        if isinstance(each, AddConstraintNotValid):
            added[app, each.constraint.name] = name or app
        elif isinstance(each, ValidateConstraint):
            if (app, each.name) in added:
                yield "ValidateConstraint: in a later migration, this one still holds its lock"
            self._unproven.pop((app, each.name), None)
        if model not in made or isinstance(each, migrations.RunPython | migrations.RunSQL):
            for line in self._on_old_table(app, each):
                yield f"{type(each).__name__}: {line}"
        each.state_forwards(app, self.state)

    def _separate(
        self,
        app: str,
        each: migrations.SeparateDatabaseAndState,
        made: set[str],
        added: dict[tuple[str, str], str],
        name: str,
    ) -> Iterator[str]:
        """The database's part counts; the other changes nothing there, so a column can stay."""
        before = self.state.clone()
        for part in each.database_operations:
            yield from self._of(app, part, made, added, name)
        self.state = before
        for part in each.state_operations:
            removed = isinstance(part, migrations.RemoveField) and self._field(app, part)
            if removed and not removed.null and removed.db_default is NOT_PROVIDED:
                yield f"RemoveField {part.name}: the new version gives it no value: db_default"
            part.state_forwards(app, self.state)

    def _on_old_table(self, app: str, each: Any) -> Iterator[str]:
        match each:
            case _ if isinstance(each, GOES_LATER):
                yield "the version before still uses it; one release later"
            case migrations.AddField():
                yield from _added(each.field)
            case migrations.AlterField():
                yield from _altered(self._field(app, each), each.field)
            case migrations.AddIndex() if not isinstance(each, AddIndexConcurrently):
                yield "it blocks writers: AddIndexConcurrently"
            case migrations.AddConstraint() if not isinstance(each, AddConstraintNotValid):
                yield "it reads all rows under a lock: AddConstraintNotValid"
            case migrations.AlterUniqueTogether() | migrations.AlterOrderWithRespectTo():
                yield "it reads all rows under a lock"
            case migrations.RunPython() if each.reverse_code is None:
                yield "it cannot be taken back: reverse_code"
            case migrations.RunSQL():
                yield from _raw(each)

    def _field(self, app: str, each: Any) -> Column:
        fields = self.state.models[app, each.model_name.lower()].fields
        return fields[each.name]


def _added(field: Column) -> Iterator[str]:
    if not field.null and field.db_default is NOT_PROVIDED:
        yield f"{_name(field)}the version before gives it no value: db_default"
    if isinstance(field.db_default, Func) and not isinstance(field.db_default, Now):
        yield "a default that differs by row rewrites the table"
    if field.unique or field.db_index:
        yield "its index blocks writers: db_index=False, and AddIndexConcurrently"


def _altered(old: Column, new: Column) -> Iterator[str]:
    if line := _of_types(_type(old), _type(new)):
        yield line
    if old.null and not new.null:
        yield "it reads all rows under a lock, and the version before writes null: later"
    if old.db_default is not NOT_PROVIDED and new.db_default is NOT_PROVIDED and not new.null:
        yield "the version before gives it no value: keep db_default"
    if new.primary_key and not old.primary_key:
        yield "it reads all rows under a lock: a primary key"
    elif _indexed(new) > _indexed(old):
        yield "its index blocks writers: AddIndexConcurrently"
    if _refers(new) and not _refers(old):
        yield "it reads all rows under a lock: a foreign key that is NOT VALID"


def _of_types(old: str, new: str) -> str | None:
    """The mistake of a change of the column's type, if it is one."""
    if old == new or (old.startswith("varchar") and new == "text"):
        return None
    before, after = SIZED.fullmatch(old), SIZED.fullmatch(new)
    if before is None or after is None or before[1] != after[1]:
        return f"{old} to {new} rewrites the table under a lock: a new column"
    if before[3] != after[3]:
        return f"{old} to {new} rewrites the table under a lock: a new column"
    if int(after[2]) < int(before[2]):
        return f"{old} to {new} refuses what the version before writes: one release later"
    return None


def _type(field: Column) -> str:
    # A field of a state belongs to no model, and a reference has the type of another's key.
    return (field.db_type(connection) or "") if not field.is_relation else type(field).__name__


def _indexed(field: Column) -> int:
    return 2 if field.unique else int(field.db_index)


def _refers(field: Column) -> bool:
    return bool(field.is_relation and getattr(field, "db_constraint", False))


def _name(field: Column) -> str:
    return f"{field.name}: " if getattr(field, "name", None) else ""


def _raw(operation: migrations.RunSQL) -> Iterator[str]:
    if operation.reverse_sql is None:
        yield "it cannot be taken back: reverse_sql"
    for statement in _statements(operation.sql):
        for pattern, line in RAW:
            if re.search(pattern, statement, re.IGNORECASE | re.DOTALL):
                yield line


def _statements(sql: Any) -> list[str]:
    texts = (
        [sql]
        if isinstance(sql, str)
        else [each if isinstance(each, str) else each[0] for each in sql]
    )
    bare = (re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL) for text in texts)
    return [statement for text in bare for statement in text.split(";") if statement.strip()]
