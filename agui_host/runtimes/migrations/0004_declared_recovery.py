from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0003_state_schema"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="declared_recovery",
            field=models.CharField(
                blank=True,
                choices=[("end", "End"), ("continue", "Continue")],
                db_default="",
                default="",
                editable=False,
                help_text="A remote agent's declaration with its last run: end, and it is not asked again.",
                max_length=8,
            ),
        ),
    ]
