from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0002_agent_versions"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="on_bad_state",
            field=models.CharField(
                choices=[("ignore", "Ignore"), ("note", "Note"), ("refuse", "Refuse")],
                db_default="ignore",
                default="ignore",
                help_text="When a state does not match the schema: nothing, a finding, or also a refusal.",
                max_length=6,
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="state_schema",
            field=models.JSONField(
                blank=True,
                help_text="A JSON Schema of the state; empty: the one of the agent's code.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("on_bad_state__in", ["ignore", "note", "refuse"])),
                name="agent_on_bad_state_known",
            ),
        ),
    ]
