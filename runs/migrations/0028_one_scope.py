from django.db import migrations

# Whether the scope reaches a team, from the two functions that read it (teams/0004_scope).
REACHES = """
create or replace function agui_reaches(of_team uuid) returns boolean language sql stable as $$
    select coalesce(agui_reaches_all() or of_team = any (agui_reached()), false)
$$;
"""
REACHES_BEFORE = """
create or replace function agui_reaches(of_team uuid) returns boolean language sql stable as $$
    select coalesce(
        current_setting('agui.teams', true) = '*'
        or of_team = any (
            string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]),
        false)
$$;
"""
VIEW = """
create or replace view runs_wordsreached as
select run_id, words from runs_runwords
 where coalesce(
    not (select row_security_active('runs_runwords'))
    or (select agui_reaches_all())
    or team_id = any ((select agui_reached())::uuid[]),
    false);
"""
VIEW_BEFORE = """
create or replace view runs_wordsreached as
select run_id, words from runs_runwords
 where coalesce(
    not (select row_security_active('runs_runwords'))
    or (select current_setting('agui.teams', true)) = '*'
    or team_id = any ((
        select string_to_array(nullif(current_setting('agui.teams', true), '*'), ','))::uuid[]),
    false);
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0025_ids_by_the_database"), ("teams", "0004_scope")]
    operations = [
        migrations.RunSQL(REACHES, REACHES_BEFORE),
        migrations.RunSQL(VIEW, VIEW_BEFORE),
    ]
