-- Months, purging and sealing. The application's role owns no table and cannot read or delete
-- events, so a worker does this with the owner's rights (docs/adr/0004-row-level-security.md).

-- Creates the partition of a month, unless it exists.
create function agui_make_month(name text, low uuid, high uuid) returns void
    language plpgsql security definer as $$
begin
    perform agui_require_scope(null);
    if name !~ '^events_event_[0-9]{4}_[0-9]{2}$' then
        raise exception 'not the name of a month: %', name;
    end if;
    execute format(
        'create table if not exists %I partition of events_event for values from (%L) to (%L)',
        name, low, high);
end $$;

-- Drops the partition of a past month, with its events.
create function agui_drop_month(name text) returns void
    language plpgsql security definer as $$
begin
    perform agui_require_scope(null);
    if name !~ '^events_event_[0-9]{4}_[0-9]{2}$'
       or name >= to_char(now() at time zone 'UTC', '"events_event_"YYYY_MM') then
        raise exception 'not the name of a past month: %', name;
    end if;
    execute format('alter table events_event detach partition %I', name);
    execute format('drop table %I', name);
end $$;

-- Whether events are in the default partition: the partition of their month was missing.
create function agui_stray_events() returns boolean
    language sql stable security definer as $$
    select exists (select 1 from events_event_default)
$$;

-- Deletes a range of a log's events and returns their number.
create function agui_purge_events(journal uuid, after integer, upto integer) returns bigint
    language plpgsql security definer as $$
declare
    gone bigint;
begin
    perform agui_require_scope(null);
    delete from events_event where journal_id = journal and seq > after and seq <= upto;
    get diagnostics gone = row_count;
    return gone;
end $$;

-- Deletes a range of each of these logs and returns the number of events.
create function agui_purge_logs(journals uuid[], afters integer[], uptos integer[]) returns bigint
    language plpgsql security definer as $$
declare
    gone bigint := 0;
    part bigint;
begin
    perform agui_require_scope(null);
    -- One statement a log: each reads the index of one partition, with a plan that is kept.
    for place in 1 .. coalesce(cardinality(journals), 0) loop
        delete from events_event
         where journal_id = journals[place] and seq > afters[place] and seq <= uptos[place];
        get diagnostics part = row_count;
        gone := gone + part;
    end loop;
    return gone;
end $$;

-- The events of a log with their times, for sealing.
create function agui_sealable_events(journal uuid, after integer, upto integer)
    returns table (seq integer, at bigint, type text, payload text)
    language plpgsql stable rows 500 security definer as $$
begin
    perform agui_require_scope(null);
    return query
        select e.seq, (extract(epoch from e.at) * 1000000)::bigint, e.type, e.payload
          from events_event e
         where e.journal_id = journal and e.seq > after and e.seq <= upto
         order by e.seq;
end $$;
