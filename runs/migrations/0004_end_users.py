from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0003_insight"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="end_user",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The person for whom the key started it: `sub` of the token X-AGUI-User.",
                max_length=150,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="person",
            field=models.TextField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="budget",
            name="key",
            field=models.CharField(max_length=255),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=~Q(end_user=""),
                fields=["team", "end_user", "-journal"],
                name="run_team_by_end_user",
            ),
        ),
    ]
