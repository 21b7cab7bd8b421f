"""Labels on runs, data sets, and trials."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import agui_host.backends.postgres.clock


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0006_alerts"),
        ("teams", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="DataSet",
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
                ("name", models.CharField(max_length=120)),
                ("created_by", models.CharField(max_length=200)),
                ("creator", models.CharField(max_length=60)),
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
            },
        ),
        migrations.CreateModel(
            name="DataSetRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "data_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="runs.dataset",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"
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
        ),
        migrations.CreateModel(
            name="RunLabel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=40)),
                (
                    "author",
                    models.CharField(help_text="The label of a person or a key.", max_length=200),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="runs.run",
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
        ),
        migrations.CreateModel(
            name="Trial",
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
                ("agent", models.CharField(max_length=64)),
                ("created_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "data_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trials",
                        to="runs.dataset",
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
            },
        ),
        migrations.CreateModel(
            name="TrialRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("problem", models.CharField(blank=True, default="", max_length=60)),
                (
                    "again",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"
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
                (
                    "trial",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="runs.trial",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="dataset",
            constraint=models.UniqueConstraint(fields=("team", "name"), name="data_set_name_once"),
        ),
        migrations.AddConstraint(
            model_name="dataset",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="data_set_has_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="datasetrun",
            constraint=models.UniqueConstraint(
                fields=("data_set", "run"), name="data_set_run_once"
            ),
        ),
        migrations.AddIndex(
            model_name="runlabel",
            index=models.Index(fields=["team", "name", "-run"], name="run_label_of_team"),
        ),
        migrations.AddConstraint(
            model_name="runlabel",
            constraint=models.UniqueConstraint(fields=("run", "name"), name="run_label_once"),
        ),
        migrations.AddConstraint(
            model_name="runlabel",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="run_label_not_empty"
            ),
        ),
        migrations.AddConstraint(
            model_name="trialrun",
            constraint=models.UniqueConstraint(fields=("trial", "run"), name="trial_run_once"),
        ),
    ]
