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
-- The planner chooses between the index of the words and that of the order by how often the
-- words of a query occur: let it know ten thousand of them.
alter table runs_runwords alter column words set statistics 1000;
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0018_figures"), ("teams", "0003_socket_tickets")]

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
    ]
