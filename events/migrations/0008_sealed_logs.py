import django.db.models.functions
from django.db import migrations, models

import agui_host.backends.postgres.clock

# The rows of a log with their times, for who seals it: they are in the owner's table.
FUNCTIONS = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function agui_sealable_events(journal uuid, after integer, upto integer)
    returns table (seq integer, at bigint, type text, payload text)
    language plpgsql stable rows 500 security definer set search_path from current as $$
begin
    perform agui_require_all_teams();
    return query
        select e.seq, (extract(epoch from e.at) * 1000000)::bigint, e.type, e.payload
          from events_event e
         where e.journal_id = journal and e.seq > after and e.seq <= upto
         order by e.seq;
end $$;
revoke execute on function agui_sealable_events(uuid, integer, integer) from public;
"""
DROP = "drop function agui_sealable_events(uuid, integer, integer)"


class Migration(migrations.Migration):
    dependencies = [("events", "0007_epochs_of_writers")]
    operations = [
        migrations.CreateModel(
            name="SealedObject",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("place", models.UUIDField(editable=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("writing", "Writing"),
                            ("sealed", "Sealed"),
                            ("stale", "Stale"),
                            ("doomed", "Doomed"),
                        ],
                        default="writing",
                        max_length=8,
                    ),
                ),
                ("size", models.BigIntegerField(default=0, editable=False)),
                ("logs", models.IntegerField(default=0, editable=False)),
                (
                    "began_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.Now(), editable=False
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["began_at"],
                        condition=models.Q(state="sealed", _negated=True),
                        name="sealed_object_with_work",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="SealedPart",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "journal_id",
                        "first",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("first", models.IntegerField()),
                ("last", models.IntegerField()),
                ("place", models.UUIDField()),
                ("offset", models.BigIntegerField()),
                ("length", models.IntegerField()),
                (
                    "journal",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="sealed_parts",
                        to="events.journal",
                    ),
                ),
                (
                    "object",
                    models.ForeignKey(
                        on_delete=models.deletion.RESTRICT,
                        related_name="parts",
                        to="events.sealedobject",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(FUNCTIONS, DROP),
    ]
