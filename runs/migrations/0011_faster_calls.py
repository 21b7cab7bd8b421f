from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0010_effects_read_back"),
        ("runtimes", "0004_declared_recovery"),
        ("teams", "0003_directory"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="toolcall",
            index=models.Index(fields=["agent", "-at"], name="call_agent_newest"),
        ),
        migrations.AddIndex(
            model_name="toolcall",
            index=models.Index(
                condition=models.Q(("status", "ok"), _negated=True),
                fields=["team", "status", "-at"],
                name="call_not_ok",
            ),
        ),
    ]
