"""When a client last changed a conversation without a run, for retention."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0032_conversations"),
    ]

    operations = [
        migrations.AddField(
            model_name="threadhistory",
            name="rewritten_at",
            field=models.DateTimeField(null=True),
        ),
        # Histories that no run has ever brought anything to: their time begins now.
        migrations.RunSQL(
            "update runs_threadhistory set rewritten_at = clock_timestamp()"
            " where through = '00000000-0000-0000-0000-000000000000'",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="threadhistory",
            index=models.Index(
                condition=models.Q(("rewritten_at__isnull", False)),
                fields=["rewritten_at"],
                name="history_rewritten",
            ),
        ),
    ]
