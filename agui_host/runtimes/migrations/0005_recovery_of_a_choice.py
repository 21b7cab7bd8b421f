from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0004_declared_recovery"),
        ("teams", "0003_directory"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="agent",
            name="agent_recovery_known",
        ),
        migrations.AlterField(
            model_name="agent",
            name="declared_recovery",
            field=models.CharField(
                blank=True,
                choices=[("end", "End"), ("continue", "Continue")],
                db_default="",
                default="",
                editable=False,
                help_text="A remote agent's declaration with its last run.",
                max_length=8,
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="recovery",
            field=models.CharField(
                blank=True,
                choices=[("end", "End"), ("continue", "Continue")],
                db_default="",
                default="",
                help_text="A run whose worker is lost or stopped ends, or another worker continues it. Empty: as a remote agent declares; other agents' runs end.",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("recovery__in", ["", "end", "continue"])),
                name="agent_recovery_known",
            ),
        ),
    ]
