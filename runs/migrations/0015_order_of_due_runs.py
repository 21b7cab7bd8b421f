from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Indexes of a large table, made and dropped while runs are written.
    atomic = False

    dependencies = [
        ("runs", "0014_own_jobs"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(("stamp__isnull", False), ("status__in", ("queued", "running"))),
                fields=["team", "stamp"],
                name="run_stamped",
            ),
        ),
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(("stamp", None), ("status", "queued")),
                fields=["team", "created_at", "journal"],
                name="run_unstamped",
            ),
        ),
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["stamp", "journal"],
                name="run_due",
            ),
        ),
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("status__in", ("queued", "running")), ("worker__isnull", False)
                ),
                fields=["worker"],
                name="run_of_worker",
            ),
        ),
        RemoveIndexConcurrently(
            model_name="run",
            name="run_admitted",
        ),
        RemoveIndexConcurrently(
            model_name="run",
            name="run_waiting",
        ),
    ]
