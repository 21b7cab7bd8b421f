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
SCHEMA = import_module("runs.migrations.0001_schema")
# Procrastinate's triggers as its authors made them, for all tasks.
FOR_ALL_TASKS = SCHEMA.TRIGGERS.format(new="", when="", old="")


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0013_rated_answers"),
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
        migrations.RunSQL(STAMP, migrations.RunSQL.noop),
        migrations.RunSQL(FOR_ALL_TASKS, SCHEMA.WITHOUT_RUNS),
        migrations.RunSQL("drop index if exists runs_job_waiting_for_lock", SCHEMA.WAITING_JOBS),
    ]
