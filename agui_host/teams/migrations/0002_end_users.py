from django.db import migrations, models

import agui_host.security.secrets


class Migration(migrations.Migration):
    dependencies = [
        ("teams", "0001_schema"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="end_user_realm",
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="apikey",
            name="end_user_secret",
            field=agui_host.security.secrets.SealedField(
                blank=True, db_default="", default="", editable=False
            ),
        ),
        migrations.AddField(
            model_name="streamticket",
            name="end_user",
            field=models.TextField(db_default="", default=""),
        ),
    ]
