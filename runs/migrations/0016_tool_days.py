import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

TEAM = models.ForeignKey(
    db_constraint=False,
    db_index=False,
    on_delete=django.db.models.deletion.CASCADE,
    related_name="+",
    to="teams.team",
)
ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
# The calls of earlier releases are counted when their days are.
COUNT = """
insert into runs_toolchange (team_id, day)
select distinct team_id, (at at time zone 'UTC')::date from runs_toolcall
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0015_order_of_due_runs")]

    operations = [
        migrations.CreateModel(
            name="ToolChange",
            fields=[("id", ID), ("day", models.DateField()), ("team", TEAM)],
            options={"indexes": [models.Index(fields=["team", "day"], name="tool_change_of_team")]},
        ),
        migrations.CreateModel(
            name="ToolDay",
            fields=[
                ("id", ID),
                ("day", models.DateField()),
                ("name", models.CharField(blank=True, max_length=200)),
                ("owner", models.CharField(blank=True, max_length=60)),
                ("calls", models.IntegerField()),
                ("failed", models.IntegerField()),
                ("doubles", models.IntegerField()),
                (
                    "buckets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.SmallIntegerField(), size=None
                    ),
                ),
                (
                    "counts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                ("team", TEAM),
            ],
            options={"indexes": [models.Index(fields=["team", "day"], name="tool_day_of_team")]},
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
