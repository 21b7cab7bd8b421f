from importlib import import_module

import django.contrib.postgres.fields
import django.db.models.functions.datetime
from django.db import migrations, models

# Runs that a process of the previous release has admitted have a job with their place in the order.
STAMP = """
update runs_run run
   set stamp = coalesce(greatest(0, -(select job.priority::bigint from procrastinate_jobs job
                                       where job.id = run.job_id)), 0)
 where run.status in ('queued', 'running') and run.job_id is not null and run.parent_id is null
"""
# Procrastinate's triggers as its authors made them, for all tasks.
BEFORE = import_module("runs.migrations.0021_starts_at_once")
INDEX = "runs_job_waiting_for_lock"


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0008_sealed_logs"),
        ("runs", "0050_effects_read_back"),
        ("runtimes", "0014_declared_recovery"),
        ("teams", "0007_directory"),
    ]

    operations = [
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "heartbeat",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "queues",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("free", models.IntegerField()),
                ("draining", models.BooleanField(db_default=False, default=False)),
                ("chores", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.RemoveIndex(
            model_name="run",
            name="run_admitted",
        ),
        migrations.RemoveIndex(
            model_name="run",
            name="run_waiting",
        ),
        migrations.AddField(
            model_name="run",
            name="due_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="stamp",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="traceparent",
            field=models.CharField(
                editable=False, help_text="The span of the request.", max_length=64, null=True
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="worker",
            field=models.BigIntegerField(
                editable=False,
                help_text="The worker that executes it, or has executed it.",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("stamp__isnull", False), ("status__in", ("queued", "running"))),
                fields=["team"],
                name="run_stamped",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("stamp", None), ("status", "queued")),
                fields=["team", "created_at", "journal"],
                name="run_unstamped",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["stamp", "journal"],
                name="run_due",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("status__in", ("queued", "running")), ("worker__isnull", False)
                ),
                fields=["worker"],
                name="run_of_worker",
            ),
        ),
        migrations.RunSQL(STAMP, migrations.RunSQL.noop),
        migrations.RunSQL(BEFORE.AS_BEFORE, BEFORE.WITHOUT_RUNS),
        migrations.RunSQL(
            f"drop index {INDEX}",
            f"create index {INDEX} on procrastinate_jobs (lock) where status = 'todo'",
        ),
    ]
