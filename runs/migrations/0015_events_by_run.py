from typing import Any

from django.db import migrations

# Events have no team and no policy: COPY refuses a table with one. The application's role may not
# read the table at all; it reads a run's events by this function, which looks once per call whether
# the run is one that the scope reaches (docs/adr/0004-row-level-security.md).
CREATE = """
create function agui_sees(journal uuid) returns boolean
    language sql stable security definer set search_path = {schema}, pg_temp as $$
    select current_setting('agui.teams', true) = '*' or exists (
        select 1 from runs_run where journal_id = journal and team_id = any (
            string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]))
$$;

create function agui_events(
    journal uuid, after integer, upto integer, types text[] default null
) returns table (seq integer, type text, payload text)
    language plpgsql stable rows 500 security definer set search_path = {schema}, pg_temp as $$
begin
    if agui_sees(journal) then
        return query
            select e.seq, e.type, e.payload from events_event e
             where e.journal_id = journal and e.seq > after and e.seq <= upto
               and (types is null or e.type = any (types))
             order by e.seq;
    end if;
end $$;

revoke execute on function
    agui_sees(uuid), agui_events(uuid, integer, integer, text[]) from public;
"""
DROP = "drop function agui_events(uuid, integer, integer, text[]), agui_sees(uuid)"


def create(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("select quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        cursor.execute(CREATE.format(schema=schema))


def drop(apps: Any, schema_editor: Any) -> None:
    schema_editor.execute(DROP)


class Migration(migrations.Migration):
    dependencies = [("runs", "0014_repeatable"), ("events", "0006_functions")]

    operations = [migrations.RunPython(create, drop)]
