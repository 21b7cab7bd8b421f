from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0017_taking")]
    # Null everywhere, so that the table is not written again and its lock is held for a moment.
    operations = [
        migrations.AddField("run", name, field(null=True, editable=False, help_text=text))
        for name, field, text in (
            ("tool_calls", models.IntegerField, ""),
            ("subagents", models.IntegerField, ""),
            ("tokens_in", models.BigIntegerField, ""),
            ("tokens_out", models.BigIntegerField, ""),
            ("cost", models.FloatField, "In US dollars."),
            ("queued_ms", models.IntegerField, "From its creation to its start, in milliseconds."),
            (
                "ttft_ms",
                models.IntegerField,
                "From its start to the first piece of text, reasoning or a call.",
            ),
        )
    ]
