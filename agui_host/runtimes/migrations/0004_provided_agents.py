from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0003_agent_queue"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="provided",
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="agent",
            name="withdrawn",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
