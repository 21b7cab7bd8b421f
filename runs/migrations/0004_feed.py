import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# An entry in the transaction of each change of status, in every process (runs/models/feed.py).
ENTRIES = """
create sequence runs_feed_position;
create function runs_feed_of_run() returns trigger language plpgsql as $$
begin
    insert into runs_feedentry (team_id, run_id, status)
        values (new.team_id, new.journal_id, new.status);
    return null;
end $$;
create trigger runs_feed_run_made after insert on runs_run for each row
    execute function runs_feed_of_run();
create trigger runs_feed_run_moved after update of status on runs_run for each row
    when (old.status <> new.status) execute function runs_feed_of_run();

create function runs_feed_of_interrupt() returns trigger language plpgsql as $$
begin
    insert into runs_feedentry (team_id, run_id, interrupt, status)
        values (new.team_id, new.run_id, new.id, new.status);
    return null;
end $$;
create trigger runs_feed_interrupt_made after insert on runs_interrupt for each row
    execute function runs_feed_of_interrupt();
create trigger runs_feed_interrupt_moved after update of status on runs_interrupt for each row
    when (old.status <> new.status) execute function runs_feed_of_interrupt();
"""
NONE = """
drop trigger runs_feed_run_made on runs_run;
drop trigger runs_feed_run_moved on runs_run;
drop trigger runs_feed_interrupt_made on runs_interrupt;
drop trigger runs_feed_interrupt_moved on runs_interrupt;
drop function runs_feed_of_run();
drop function runs_feed_of_interrupt();
drop sequence runs_feed_position;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0003_runs_by_time_and_error"),
        ("teams", "0002_sql"),
    ]

    operations = [
        migrations.CreateModel(
            name="FeedEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("interrupt", models.UUIDField(null=True)),
                ("status", models.CharField(max_length=12)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("position", models.BigIntegerField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("position", None)),
                        fields=["team", "id"],
                        name="feed_unnumbered",
                    ),
                    models.Index(fields=["at"], name="feed_oldest"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("position__isnull", False)),
                        fields=("team", "position"),
                        name="feed_position_once_per_team",
                    )
                ],
            },
        ),
        migrations.RunSQL(ENTRIES, NONE),
    ]
