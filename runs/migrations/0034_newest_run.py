"""The newest run of each thread: the list of threads reads an index instead of every run."""

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

SET_NEWEST = """
with batch as (
    select thread.id from runs_thread thread
     where thread.newest is null and exists (
        select from runs_run run where run.thread_id = thread.id)
     limit 10000
)
update runs_thread thread set newest = (
    select run.journal_id from runs_run run where run.thread_id = thread.id
     order by run.journal_id desc limit 1)
  from batch where thread.id = batch.id
"""


def set_newest(apps: Any, schema_editor: Any) -> None:
    """In batches, each a transaction: starts in the threads of a batch wait for that batch only."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(SET_NEWEST)
        while cursor.rowcount:
            cursor.execute(SET_NEWEST)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("runs", "0033_rewritten_at")]
    operations = [
        migrations.AddField(
            model_name="thread",
            name="newest",
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.RunPython(set_newest, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="thread",
            index=models.Index(
                condition=models.Q(("newest__isnull", False)),
                fields=["team", "-newest"],
                name="thread_team_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="thread",
            index=models.Index(
                condition=models.Q(("archived_at__isnull", False), ("newest__isnull", False)),
                fields=["team", "-newest"],
                name="thread_archived_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="thread",
            index=GinIndex(
                condition=models.Q(("tags", []), _negated=True),
                fields=["tags"],
                name="thread_tagged",
            ),
        ),
    ]
