from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid6
from django.db import migrations, models

# The primary key is the replay index; see the docstring of Event for what is left out and why.
CREATE = """
create table events_event (
    journal_id uuid not null,
    seq integer not null,
    at timestamptz not null default statement_timestamp(),
    type text not null,
    payload text not null,
    primary key (journal_id, seq)
) partition by range (journal_id);
create table events_event_default partition of events_event default;
"""


def make_months(apps: Any, schema_editor: Any) -> None:
    from datetime import UTC, datetime

    from events.partitions import AHEAD, PREFIX, first_id, month_after

    today = datetime.now(UTC).date()
    for offset in range(AHEAD + 1):
        low, high = (first_id(month_after(today, offset + step)) for step in (0, 1))
        schema_editor.execute(
            f"create table {PREFIX}{month_after(today, offset):%Y_%m} partition of events_event"
            f" for values from ('{low}') to ('{high}')"
        )


class Migration(migrations.Migration):
    initial = True
    dependencies = []

    operations = [
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
                ("closed_at", models.DateTimeField(editable=False, null=True)),
            ],
        ),
        migrations.AddConstraint(
            model_name="journal",
            constraint=models.CheckConstraint(
                condition=models.Q(("head__gte", 0)), name="journal_head_not_below_0"
            ),
        ),
        # Room on the page for the next version of the row: nearly every head update is HOT.
        migrations.RunSQL(
            "alter table events_journal set (fillfactor = 70)", migrations.RunSQL.noop
        ),
        migrations.SeparateDatabaseAndState(
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
            database_operations=[migrations.RunSQL(CREATE, "drop table events_event")],
        ),
        migrations.RunPython(make_months, migrations.RunPython.noop),
    ]
