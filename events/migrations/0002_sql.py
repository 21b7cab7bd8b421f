from datetime import UTC, datetime
from typing import Any

from django.db import migrations

from events.partitions import AHEAD, PREFIX, first_id, month_after

# The primary key is the replay index; see the docstring of Event for what is left out and why.
# Journals keep room on the page for a row's next version: nearly every head update is HOT.
TABLES = """
create table events_event (
    journal_id uuid not null,
    seq integer not null,
    at timestamptz not null default statement_timestamp(),
    type text not null,
    payload text not null,
    primary key (journal_id, seq)
) partition by range (journal_id);
create table events_event_default partition of events_event default;
alter table events_journal set (fillfactor = 70);
"""
# The application's role owns no table, so what a worker has to do with the events table beside
# appending is done by these, with the owner's rights (docs/adr/0004-row-level-security.md). Each
# finds the tables by the path of now, with temporary tables last.
FUNCTIONS = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function agui_require_all_teams() returns void language plpgsql stable as $$
begin
    if current_setting('agui.teams', true) is distinct from '*' then
        raise exception 'this is work for all teams' using errcode = 'insufficient_privilege';
    end if;
end $$;

create function agui_make_month(name text, low uuid, high uuid) returns void
    language plpgsql security definer set search_path from current as $$
begin
    perform agui_require_all_teams();
    if name !~ '^events_event_[0-9]{4}_[0-9]{2}$' then
        raise exception 'not the name of a month: %', name;
    end if;
    execute format(
        'create table if not exists %I partition of events_event for values from (%L) to (%L)',
        name, low, high);
end $$;

create function agui_drop_month(name text) returns void
    language plpgsql security definer set search_path from current as $$
begin
    perform agui_require_all_teams();
    if name !~ '^events_event_[0-9]{4}_[0-9]{2}$'
       or name >= to_char(now() at time zone 'UTC', '"events_event_"YYYY_MM') then
        raise exception 'not the name of a past month: %', name;
    end if;
    execute format('alter table events_event detach partition %I', name);
    execute format('drop table %I', name);
end $$;

create function agui_purge_events(journal uuid, after integer, upto integer) returns bigint
    language plpgsql security definer set search_path from current as $$
declare
    gone bigint;
begin
    perform agui_require_all_teams();
    delete from events_event where journal_id = journal and seq > after and seq <= upto;
    get diagnostics gone = row_count;
    return gone;
end $$;

create function agui_stray_events() returns boolean
    language sql stable security definer set search_path from current as $$
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
drop table events_event;
"""


def make_months(apps: Any, schema_editor: Any) -> None:
    today = datetime.now(UTC).date()
    for offset in range(AHEAD + 1):
        low, high = (first_id(month_after(today, offset + step)) for step in (0, 1))
        schema_editor.execute(
            f"create table {PREFIX}{month_after(today, offset):%Y_%m} partition of events_event"
            f" for values from ('{low}') to ('{high}')"
        )


class Migration(migrations.Migration):
    replaces = [("events", "0006_functions")]
    dependencies = [("events", "0001_tables")]
    operations = [
        migrations.RunSQL(TABLES, migrations.RunSQL.noop),
        migrations.RunPython(make_months, migrations.RunPython.noop),
        migrations.RunSQL(FUNCTIONS, DROP),
    ]
