from datetime import UTC, datetime
from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid6
from django.db import migrations, models

import agui_host.backends.postgres.clock
from agui_host.backends.postgres.functions.install import early
from events.partitions import AHEAD, PREFIX, first_id, month_after

# The primary key is the replay index; see the docstring of Event for what is left out and why.
# Journals keep room on the page for a row's next version: nearly every head update is HOT.
TABLES = """
create table events_event (
    journal_id uuid not null,
    seq integer not null,
    at timestamptz not null default statement_timestamp(),
    type text not null,
    payload text not null,
    primary key (journal_id, seq)
) partition by range (journal_id);
create table events_event_default partition of events_event default;
alter table events_journal set (fillfactor = 70);
"""
EPOCH = "alter table events_journal alter column epoch set default agui_epoch()"


def make_months(apps: Any, schema_editor: Any) -> None:
    today = datetime.now(UTC).date()
    for offset in range(AHEAD + 1):
        low, high = (first_id(month_after(today, offset + step)) for step in (0, 1))
        schema_editor.execute(
            f"create table {PREFIX}{month_after(today, offset):%Y_%m} partition of events_event"
            f" for values from ('{low}') to ('{high}')"
        )


class Migration(migrations.Migration):
    replaces = [
        # A database has these names as well: earlier migrations replaced them.
        ("events", "0001_journal_and_partitioned_events"),
        ("events", "0002_findings"),
        ("events", "0003_checkpoints"),
        ("events", "0004_limits"),
        ("events", "0005_retention"),
        ("events", "0006_functions"),
        ("events", "0001_tables"),
        ("events", "0002_sql"),
        ("events", "0003_outlines"),
        ("events", "0004_appending"),
        ("events", "0005_fence_of_one"),
        ("events", "0006_epochs"),
        ("events", "0007_epochs_of_writers"),
        ("events", "0008_sealed_logs"),
    ]
    initial = True

    dependencies = [("teams", "0001_schema")]

    operations = [
        migrations.CreateModel(
            name="Doomed",
            fields=[
                ("journal_id", models.UUIDField(primary_key=True, serialize=False)),
                ("swept", models.IntegerField(default=0)),
                ("last", models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Epoch",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("timeline", models.BigIntegerField(null=True)),
                ("began_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Journal",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("head", models.IntegerField(default=0, editable=False)),
                ("writer", models.IntegerField(default=0, editable=False)),
                ("bytes", models.BigIntegerField(db_default=0, default=0, editable=False)),
                ("closed_at", models.DateTimeField(editable=False, null=True)),
                ("epoch", models.BigIntegerField(db_default=1, editable=False)),
                (
                    "marks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), editable=False, null=True, size=None
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("head__gte", 0)), name="journal_head_not_below_0"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seq", models.IntegerField()),
                ("rule", models.CharField(max_length=20)),
                ("action", models.CharField(max_length=20)),
                ("times", models.PositiveIntegerField(default=1)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "journal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="findings",
                        to="events.journal",
                    ),
                ),
            ],
        ),
        # Django knows no partitions.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(TABLES, "drop table events_event"),
                migrations.RunPython(make_months, migrations.RunPython.noop),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="Event",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "journal_id",
                                "seq",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("seq", models.IntegerField()),
                        (
                            "at",
                            models.DateTimeField(
                                db_default=django.db.models.functions.datetime.Now()
                            ),
                        ),
                        ("type", models.TextField()),
                        ("payload", models.TextField()),
                        (
                            "journal",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="events.journal",
                            ),
                        ),
                    ],
                ),
            ],
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "journal_id",
                        "seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("seq", models.IntegerField()),
                ("fold", models.TextField()),
                (
                    "journal",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checkpoints",
                        to="events.journal",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OutlinePage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "journal_id",
                        "page",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("page", models.IntegerField()),
                ("changed", models.IntegerField()),
                ("rows", models.BinaryField()),
                (
                    "journal",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outline_pages",
                        to="events.journal",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SealedObject",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("place", models.UUIDField(editable=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("writing", "Writing"),
                            ("sealed", "Sealed"),
                            ("stale", "Stale"),
                            ("doomed", "Doomed"),
                        ],
                        default="writing",
                        max_length=8,
                    ),
                ),
                ("size", models.BigIntegerField(default=0, editable=False)),
                ("logs", models.IntegerField(default=0, editable=False)),
                (
                    "began_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "sealed"), _negated=True),
                        fields=["began_at"],
                        name="sealed_object_with_work",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SealedPart",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "journal_id",
                        "first",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("first", models.IntegerField()),
                ("last", models.IntegerField()),
                ("place", models.UUIDField()),
                ("offset", models.BigIntegerField()),
                ("length", models.IntegerField()),
                (
                    "journal",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sealed_parts",
                        to="events.journal",
                    ),
                ),
                (
                    "object",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="parts",
                        to="events.sealedobject",
                    ),
                ),
            ],
        ),
        early("agui_epoch"),
        migrations.RunSQL(EPOCH, migrations.RunSQL.noop),
    ]
