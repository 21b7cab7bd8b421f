from django.db import migrations

# Whether the scope reaches a team; a connection without a scope reaches none. Every function with
# the owner's rights asks this one. ``agui_require_scope`` compared with <>, which is null, and so
# let everything pass, where nothing had set a scope.
REACHES = """
create function agui_reaches(of_team uuid) returns boolean language sql stable as $$
    select coalesce(
        current_setting('agui.teams', true) = '*'
        or of_team = any (
            string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]),
        false)
$$;
"""
REQUIRE = """
create or replace function agui_require_scope(of_team uuid) returns void
    language plpgsql stable as $$
begin
    if not agui_reaches(of_team) then
        raise insufficient_privilege using message = 'the scope does not reach this team';
    end if;
end $$;
create or replace function agui_require_all_teams() returns void language plpgsql stable as $$
begin
    if not agui_reaches(null) then
        raise exception 'this is work for all teams' using errcode = 'insufficient_privilege';
    end if;
end $$;
"""
REQUIRE_BEFORE = """
create or replace function agui_require_scope(of_team uuid) returns void
    language plpgsql stable as $$
declare
    scope text := current_setting('agui.teams', true);
begin
    if scope <> '*' and (of_team is null or of_team::text <> all (string_to_array(scope, ','))) then
        raise insufficient_privilege using message = 'the scope does not reach this team';
    end if;
end $$;
create or replace function agui_require_all_teams() returns void language plpgsql stable as $$
begin
    if current_setting('agui.teams', true) is distinct from '*' then
        raise exception 'this is work for all teams' using errcode = 'insufficient_privilege';
    end if;
end $$;
"""
SEES = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
create or replace function agui_sees(journal uuid) returns boolean
    language sql stable security definer set search_path from current as $$
    select agui_reaches(null)
        or exists (select from runs_run where journal_id = journal and agui_reaches(team_id))
$$;
"""
SEES_BEFORE = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
create or replace function agui_sees(journal uuid) returns boolean
    language sql stable security definer set search_path from current as $$
    select current_setting('agui.teams', true) = '*' or exists (
        select 1 from runs_run where journal_id = journal and team_id = any (
            string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]))
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0022_plans_for_large_tables"), ("events", "0005_fence_of_one")]
    operations = [
        migrations.RunSQL(REACHES, "drop function agui_reaches(uuid)"),
        migrations.RunSQL(REQUIRE, REQUIRE_BEFORE),
        migrations.RunSQL(SEES, SEES_BEFORE),
    ]
