from django.db import migrations

import security.secrets


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0003_agent_middleware"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="secrets",
            field=security.secrets.SealedField(
                blank=True,
                default="",
                editable=False,
                help_text="What nobody is shown: JSON, the headers of a remote agent.",
            ),
        ),
    ]
