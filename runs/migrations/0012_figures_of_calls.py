from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0011_faster_calls")]

    operations = [
        migrations.AddIndex(
            model_name="toolcall",
            index=models.Index(
                fields=["team", "-at"],
                include=["name", "agent", "owner", "run", "status", "double", "took_ms"],
                name="call_figures",
            ),
        ),
        migrations.RemoveIndex(model_name="toolcall", name="call_team_newest"),
    ]
