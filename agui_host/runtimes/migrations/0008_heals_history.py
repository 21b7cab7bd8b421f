from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0007_on_busy_chat"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="heals_history",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Calls and results in the thread are mended before the agent is given "
                "them.",
            ),
        ),
    ]
