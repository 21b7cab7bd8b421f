"""What chats of OpenAI keep with a thread: metadata, and how their next turn finds it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0031_sealed_logs"),
        ("teams", "0004_scope"),
    ]

    operations = [
        migrations.AddField(
            model_name="thread",
            name="chat_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=60),
        ),
        migrations.AddField(
            model_name="thread",
            name="chat_digest",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="thread",
            name="metadata",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddIndex(
            model_name="thread",
            index=models.Index(
                condition=models.Q(("chat_digest", ""), _negated=True),
                fields=["team", "chat_by", "chat_digest", "-id"],
                name="thread_by_chat",
            ),
        ),
    ]
