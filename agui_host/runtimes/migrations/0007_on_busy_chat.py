from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0006_agent_raw"),
        ("teams", "0004_scope"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="on_busy_chat",
            field=models.CharField(
                choices=[
                    ("reject", "Reject"),
                    ("enqueue", "Enqueue"),
                    ("cancel_running", "Cancel Running"),
                ],
                db_default="cancel_running",
                default="cancel_running",
                help_text="The same for a chat's new message, while the runs of its sender have not ended.",
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("on_busy_chat__in", ["reject", "enqueue", "cancel_running"])),
                name="agent_on_busy_chat_known",
            ),
        ),
    ]
