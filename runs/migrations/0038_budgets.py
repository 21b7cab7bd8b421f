"""Budgets, and what runs have spent of them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import agui_host.backends.postgres.clock


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0037_effects"),
        ("teams", "0004_scope"),
    ]

    operations = [
        migrations.CreateModel(
            name="BudgetedRun",
            fields=[
                ("run_id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("tokens", models.BigIntegerField(db_default=0, default=0)),
                (
                    "cost",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Spent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("run_id", models.UUIDField()),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("tokens", models.BigIntegerField()),
                ("cost", models.DecimalField(decimal_places=6, max_digits=24)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Budget",
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
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("agent", "Agent"),
                            ("team", "Team"),
                            ("person", "Person"),
                            ("thread", "Thread"),
                            ("run", "Run"),
                            ("key", "Key"),
                        ],
                        max_length=6,
                    ),
                ),
                ("of", models.CharField(max_length=255)),
                ("key", models.CharField(max_length=60)),
                (
                    "unit",
                    models.CharField(
                        choices=[("tokens", "Tokens"), ("cost", "Cost")], max_length=6
                    ),
                ),
                ("max", models.DecimalField(decimal_places=6, max_digits=24)),
                (
                    "reserve",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
                ),
                (
                    "period",
                    models.CharField(
                        blank=True,
                        choices=[("day", "Day"), ("month", "Month")],
                        default="",
                        max_length=5,
                    ),
                ),
                (
                    "at_limit",
                    models.CharField(
                        choices=[("end", "End"), ("ask", "Ask")], default="end", max_length=3
                    ),
                ),
                (
                    "used",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
                ),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("created_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("max__gte", 0)), name="budget_max_not_negative"
                    )
                ],
            },
        ),
    ]
