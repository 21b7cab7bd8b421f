-- Epochs of the database's history. The newest row of events_epoch is the current epoch. A promoted
-- standby is on another timeline; a restored backup is not, so `migrate --restored` adds a row. An
-- epoch's number is at least the time in seconds, so no lost epoch can have had the same number.

-- Begins an epoch and returns its number: 1 for the first.
create function agui_begin_epoch(line bigint) returns bigint language sql as $$
    insert into events_epoch (number, timeline, began_at)
    select case when count(*) = 0 then 1
                else greatest(max(number) + 1, extract(epoch from clock_timestamp())::bigint) end,
           line, clock_timestamp()
      from events_epoch
    returning number
$$;

-- The number of the database's epoch: begins a new one if the timeline has changed.
create function agui_epoch() returns bigint
    language plpgsql volatile security definer as $$
declare
    newest events_epoch;
    line bigint;
begin
    select * into newest from events_epoch order by number desc limit 1;
    if not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' then
        begin
            line := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
        exception when others then
            line := newest.timeline;  -- this server does not say it
        end;
        if newest.timeline is distinct from line then
            perform pg_advisory_xact_lock(hashtextextended('agui.epoch', 0));
            select * into newest from events_epoch order by number desc limit 1;
            if newest.timeline is distinct from line then
                newest.number := agui_begin_epoch(line);
            end if;
        end if;
    end if;
    return set_config('agui.epoch', coalesce(newest.number, 1)::text, false)::bigint;
end $$;

-- Notes in a journal's row from which event on it was written in a new epoch.
create function agui_mark_epoch() returns trigger
    language plpgsql security definer as $$
declare
    now_is bigint := agui_epoch();
begin
    if coalesce(old.marks[cardinality(old.marks)], old.epoch) <> now_is then
        new.marks := coalesce(old.marks, '{}') || array[old.head + 1, now_is];
    end if;
    return new;
end $$;

-- A log is marked when a writer takes it over in a new epoch. A log that only continues has lost
-- nothing, since its head is still the head that the writer knows.
create trigger agui_mark_epoch before update on events_journal for each row
    when (new.writer <> old.writer
          and coalesce(old.marks[cardinality(old.marks)], old.epoch)::text
          is distinct from current_setting('agui.epoch', true))
    execute function agui_mark_epoch();
