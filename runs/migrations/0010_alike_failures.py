from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0009_imported_runs"),
        ("teams", "0003_socket_tickets"),
    ]

    operations = [
        migrations.AddField(
            model_name="failure",
            name="fingerprint",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
        migrations.AddIndex(
            model_name="failure",
            index=models.Index(
                condition=models.Q(("fingerprint", ""), _negated=True),
                fields=["team", "fingerprint", "-run"],
                name="failure_team_alike",
            ),
        ),
    ]
