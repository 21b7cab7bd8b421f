"""Alerts, and their notices."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import agui_host.backends.postgres.clock


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0005_budget_warnings"),
        ("teams", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="Alert",
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
                (
                    "measure",
                    models.CharField(
                        choices=[
                            ("failed_runs", "Failed runs"),
                            ("failure_rate", "Failed runs in percent"),
                            ("p95_duration", "Seconds that 95 % of runs take at most"),
                            ("cost", "Cost in US dollars"),
                            ("waiting_questions", "Questions that wait"),
                        ],
                        max_length=17,
                    ),
                ),
                ("threshold", models.FloatField()),
                ("window_hours", models.PositiveSmallIntegerField()),
                ("least_runs", models.PositiveIntegerField(default=1)),
                ("agent", models.CharField(blank=True, default="", max_length=64)),
                ("person", models.CharField(blank=True, default="", max_length=200)),
                (
                    "tell",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[("mail", "Mail"), ("push", "Push"), ("webhook", "Webhook")],
                            max_length=7,
                        ),
                        size=None,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("snoozed_until", models.DateTimeField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("ok", "Ok"), ("firing", "Firing")],
                        default="ok",
                        editable=False,
                        max_length=6,
                    ),
                ),
                ("value", models.FloatField(editable=False, null=True)),
                ("checked_at", models.DateTimeField(editable=False, null=True)),
                ("fired_at", models.DateTimeField(editable=False, null=True)),
                ("calm_since", models.DateTimeField(editable=False, null=True)),
                ("created_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="webhook",
            name="webhook_events_known",
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "events__contained_by",
                        (
                            "run.started",
                            "run.succeeded",
                            "run.failed",
                            "run.cancelled",
                            "run.interrupted",
                            "interrupt.opened",
                            "interrupt.answered",
                            "interrupt.expired",
                            "thread.created",
                            "budget.warned",
                            "alert.fired",
                            "alert.resolved",
                        ),
                    ),
                    ("events__len__gt", 0),
                ),
                name="webhook_events_known",
            ),
        ),
        migrations.AddField(
            model_name="alert",
            name="team",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="teams.team"
            ),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=models.Q(("enabled", True)), fields=["checked_at"], name="alert_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.CheckConstraint(
                condition=models.Q(("threshold__gt", 0)), name="alert_has_threshold"
            ),
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="alert_has_name"
            ),
        ),
    ]
