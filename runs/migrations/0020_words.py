import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

# PostgreSQL uses an index behind a policy only for operators that can leak nothing, and @@ is not
# marked as one. So a search reads through a view, whose owner no policy applies to, and which has
# the same condition itself. The lexemes of a query begin with their team anyhow.
VIEW = """
create view runs_wordsreached as
select run_id, words from runs_runwords
 where coalesce(
    not (select row_security_active('runs_runwords'))
    or (select current_setting('agui.teams', true)) = '*'
    or team_id = any ((
        select string_to_array(nullif(current_setting('agui.teams', true), '*'), ','))::uuid[]),
    false);
alter table runs_runwords alter column words set statistics 300;
"""

# The newest matches of a query, from one moment backwards until there are enough of them. Each run
# has the lexemes of its stretches of time (runs/lifecycle/words/stretches.py): the index finds the
# matches of a stretch without reading others. The stretches become four times as long as long as
# they hold few matches, and shorter again in front of many: so it costs the same for a word that
# every run has, one that a few have, and one of long ago. A planner would have to guess: it knows
# neither which words come together nor when. So it may only use the index.
MATCHES = """
create function agui_matches(
    prefix text, query tsquery, below uuid, enough integer, top integer,
    out runs uuid[], out complete boolean
) language plpgsql stable set enable_seqscan = off set enable_indexscan = off as $$
declare
    oldest constant bigint := extract(epoch from timestamptz '2020-01-01 00:00Z') / 60;
    -- The minute behind the next stretch.
    behind bigint := ('x' || left(replace(below::text, '-', ''), 12))::bit(48)::bigint / 60000 + 1;
    level integer := 0;
    shorter boolean := false;
    stretch bigint;
    batch uuid[];
begin
    runs := array[]::uuid[];
    complete := true;
    while behind > oldest loop
        stretch := (behind - 1) >> (2 * level);
        batch := array(
            select run_id from runs_wordsreached
             where words @@ (
                    query && format('%L', prefix || '#' || level || '.' || stretch)::tsquery)
               and run_id < below
             limit case when level > 0 then 2 * enough end);
        if level > 0 and cardinality(batch) = 2 * enough then
            level := level - 1;
            shorter := true;
            continue;
        end if;
        runs := runs || batch;
        behind := stretch << (2 * level);
        if cardinality(runs) >= enough then
            complete := false;
            return;
        end if;
        while not shorter and level < top and behind % (4::bigint << (2 * level)) = 0 loop
            level := level + 1;
        end loop;
    end loop;
end
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0019_ending"), ("teams", "0003_socket_tickets")]

    operations = [
        migrations.CreateModel(
            name="RunWords",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("due", models.IntegerField()),
                ("words", django.contrib.postgres.search.SearchVectorField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fastupdate=False, fields=["words"], name="runwords_words"
                    ),
                    models.Index(
                        condition=models.Q(("due__gt", 0)),
                        fields=["team", "-run"],
                        name="runwords_due",
                    ),
                ],
            },
        ),
        migrations.RunSQL(VIEW, "drop view runs_wordsreached"),
        migrations.RunSQL(MATCHES, "drop function agui_matches"),
    ]
