import django.db.models.deletion
import django.db.models.functions.datetime
import uuid6
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("events", "0001_journal_and_partitioned_events"),
        ("events", "0002_findings"),
        ("events", "0003_checkpoints"),
        ("events", "0004_limits"),
        ("events", "0005_retention"),
    ]
    initial = True

    dependencies = []

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
        # Made by 0002_sql: Django knows no partitions.
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
    ]
