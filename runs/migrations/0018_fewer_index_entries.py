from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models.deletion import CASCADE

ONCE = models.UniqueConstraint(
    condition=models.Q(("idempotency_key__isnull", False)),
    fields=("team", "idempotency_key"),
    name="run_once_per_key",
)
MAKE_ONCE = """
create unique index concurrently run_once_per_key on runs_run (team_id, idempotency_key)
 where idempotency_key is not null
"""


class Migration(migrations.Migration):
    # Indexes of a large table, made and dropped while runs are written.
    atomic = False

    dependencies = [
        ("runs", "0017_versions_and_hours"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status__in", ("queued", "running"))),
                fields=["team", "stamp", "created_at", "journal"],
                name="run_in_line",
            ),
        ),
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("status__in", ("succeeded", "interrupted", "cancelled", "failed"))
                ),
                fields=["team", "status", "-journal"],
                name="run_team_ended_newest",
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.AddConstraint(model_name="run", constraint=ONCE)],
            database_operations=[
                migrations.RunSQL(MAKE_ONCE, "drop index concurrently run_once_per_key")
            ],
        ),
        RemoveIndexConcurrently(model_name="run", name="run_stamped"),
        RemoveIndexConcurrently(model_name="run", name="run_unstamped"),
        RemoveIndexConcurrently(model_name="run", name="run_team_status_newest"),
        migrations.RemoveConstraint(model_name="run", name="run_idempotency_once_per_team"),
        # Four other indexes begin with the team. AlterField would make the foreign key anew, under
        # a lock, and check each row.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="run",
                    name="team",
                    field=models.ForeignKey(
                        db_index=False, on_delete=CASCADE, related_name="+", to="teams.team"
                    ),
                )
            ],
            database_operations=[
                migrations.RunSQL(
                    "drop index concurrently if exists runs_run_team_id_a3dc55d3",
                    "create index concurrently runs_run_team_id_a3dc55d3 on runs_run (team_id)",
                )
            ],
        ),
    ]
