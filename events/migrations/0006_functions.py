from typing import Any

from django.db import migrations

# The application's role owns no table, so what a worker has to do with the events table beside
# appending is done by these, with the owner's rights (docs/adr/0004-row-level-security.md).
CREATE = """
create function agui_require_all_teams() returns void language plpgsql stable as $$
begin
    if current_setting('agui.teams', true) is distinct from '*' then
        raise exception 'this is work for all teams' using errcode = 'insufficient_privilege';
    end if;
end $$;

create function agui_make_month(name text, low uuid, high uuid) returns void
    language plpgsql security definer set search_path = {schema}, pg_temp as $$
begin
    perform agui_require_all_teams();
    if name !~ '^events_event_[0-9]{{4}}_[0-9]{{2}}$' then
        raise exception 'not the name of a month: %', name;
    end if;
    execute format(
        'create table if not exists %I partition of events_event for values from (%L) to (%L)',
        name, low, high);
end $$;

create function agui_drop_month(name text) returns void
    language plpgsql security definer set search_path = {schema}, pg_temp as $$
begin
    perform agui_require_all_teams();
    if name !~ '^events_event_[0-9]{{4}}_[0-9]{{2}}$'
       or name >= to_char(now() at time zone 'UTC', '"events_event_"YYYY_MM') then
        raise exception 'not the name of a past month: %', name;
    end if;
    execute format('alter table events_event detach partition %I', name);
    execute format('drop table %I', name);
end $$;

create function agui_purge_events(journal uuid, after integer, upto integer) returns bigint
    language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    gone bigint;
begin
    perform agui_require_all_teams();
    delete from events_event where journal_id = journal and seq > after and seq <= upto;
    get diagnostics gone = row_count;
    return gone;
end $$;

create function agui_stray_events() returns boolean
    language sql stable security definer set search_path = {schema}, pg_temp as $$
    select exists (select 1 from events_event_default)
$$;

revoke execute on function
    agui_make_month(text, uuid, uuid), agui_drop_month(text),
    agui_purge_events(uuid, integer, integer), agui_stray_events()
    from public;
"""
DROP = """
drop function agui_make_month(text, uuid, uuid), agui_drop_month(text),
    agui_purge_events(uuid, integer, integer), agui_stray_events(), agui_require_all_teams();
"""


def create(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("select quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        cursor.execute(CREATE.format(schema=schema))


def drop(apps: Any, schema_editor: Any) -> None:
    schema_editor.execute(DROP)


class Migration(migrations.Migration):
    dependencies = [("events", "0005_retention")]

    operations = [migrations.RunPython(create, drop)]
