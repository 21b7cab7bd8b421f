"""Notices about budgets, and when a budget has warned."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import agui_host.backends.postgres.clock


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0004_end_users"),
        ("teams", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="Notice",
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
                ("type", models.CharField(max_length=30)),
                ("subject", models.UUIDField()),
                ("agent", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("thread", models.UUIDField(null=True)),
                ("data", models.JSONField()),
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
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("noticed_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="webhook",
            name="webhook_events_known",
        ),
        migrations.AddField(
            model_name="budget",
            name="warned_since",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="webhookdelivery",
            name="notice",
            field=models.UUIDField(null=True),
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
                        ),
                    ),
                    ("events__len__gt", 0),
                ),
                name="webhook_events_known",
            ),
        ),
        migrations.AddField(
            model_name="notice",
            name="team",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="teams.team"
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(
                condition=models.Q(("noticed_at", None)),
                fields=["created_at"],
                name="notice_not_noticed",
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["subject", "-id"], name="notice_of_subject"),
        ),
    ]
