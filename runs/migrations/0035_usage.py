"""The usage of teams: runs, tokens and cost by hour, and the prices of models."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0034_newest_run"),
        ("runtimes", "0009_questions"),
        ("teams", "0004_scope"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="by_model",
            field=models.JSONField(
                editable=False, help_text="Tokens and cost of each model, of several.", null=True
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="questions",
            field=models.IntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="tokens_cached",
            field=models.BigIntegerField(
                editable=False,
                help_text="Of the tokens in, those that the model had cached.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="teamusage",
            name="counted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name="ModelPrice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("model", models.CharField(max_length=100)),
                (
                    "input",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000.0),
                        ]
                    ),
                ),
                (
                    "output",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000.0),
                        ]
                    ),
                ),
                (
                    "cached",
                    models.FloatField(
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000.0),
                        ],
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
                "constraints": [
                    models.UniqueConstraint(fields=("team", "model"), name="price_once_per_team"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("input__gte", 0),
                            ("output__gte", 0),
                            models.Q(("cached", None), ("cached__gte", 0), _connector="OR"),
                        ),
                        name="price_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Usage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "grain",
                    models.CharField(
                        choices=[
                            ("team", "a day"),
                            ("agent", "an agent and a day"),
                            ("hour", "an agent and an hour"),
                            ("person", "a person or key, and a day"),
                            ("finest", "an agent, a person or key, a model and an hour"),
                        ],
                        max_length=6,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("person", models.CharField(max_length=200)),
                ("owner", models.CharField(max_length=60)),
                ("model", models.CharField(max_length=100)),
                ("parts", models.BigIntegerField(default=0)),
                ("runs", models.BigIntegerField(default=0)),
                ("succeeded", models.BigIntegerField(default=0)),
                ("interrupted", models.BigIntegerField(default=0)),
                ("cancelled", models.BigIntegerField(default=0)),
                ("failed", models.BigIntegerField(default=0)),
                ("tokens_in", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                ("tokens_out", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                ("tokens_cached", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                ("cost", models.DecimalField(decimal_places=20, default=0, max_digits=60)),
                ("questions", models.BigIntegerField(default=0)),
                ("queued_ms", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("parts", 0)), fields=["team"], name="usage_empty"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "grain", "at", "agent", "person", "owner", "model"),
                        name="usage_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("grain__in", ["team", "agent", "hour", "person", "finest"])
                        ),
                        name="usage_grain_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sign", models.SmallIntegerField()),
                ("person", models.CharField(max_length=200)),
                ("owner", models.CharField(max_length=60)),
                ("created_at", models.DateTimeField()),
                ("status", models.CharField(max_length=12)),
                ("tokens_in", models.BigIntegerField(null=True)),
                ("tokens_out", models.BigIntegerField(null=True)),
                ("tokens_cached", models.BigIntegerField(null=True)),
                ("cost", models.FloatField(null=True)),
                ("by_model", models.JSONField(null=True)),
                ("questions", models.IntegerField(null=True)),
                ("queued_ms", models.IntegerField(null=True)),
                ("took_ms", models.BigIntegerField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team", "id"], name="usage_change_of_team")],
            },
        ),
        migrations.CreateModel(
            name="UsageTook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("owner", models.CharField(max_length=60)),
                ("bucket", models.SmallIntegerField()),
                ("runs", models.BigIntegerField(default=0)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("runs", 0)), fields=["team"], name="usage_took_empty"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "at", "agent", "owner", "bucket"), name="usage_took_once"
                    )
                ],
            },
        ),
    ]
