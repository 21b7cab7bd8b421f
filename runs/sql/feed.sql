-- A feed entry for each new status, in the transaction that changes it (runs/models/feed.py).
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Adds a feed entry about a run.
create function runs_feed_of_run() returns trigger language plpgsql as $$
begin
    insert into runs_feedentry (team_id, run_id, status)
        values (new.team_id, new.journal_id, new.status);
    return null;
end $$;

-- Adds those about a new run. If it is handed to a worker at once, it was queued for no time.
create function runs_feed_of_new_run() returns trigger language plpgsql as $$
begin
    insert into runs_feedentry (team_id, run_id, status)
        select new.team_id, new.journal_id, its.status
          from unnest(case new.status when 'running' then array['queued', 'running']
                                      else array[new.status] end) its (status);
    return null;
end $$;

create trigger runs_feed_run_made after insert on runs_run for each row
    execute function runs_feed_of_new_run();

create trigger runs_feed_run_moved after update of status on runs_run for each row
    when (old.status <> new.status) execute function runs_feed_of_run();

-- Adds a feed entry about an interrupt.
-- planner: as usual
create function runs_feed_of_interrupt() returns trigger language plpgsql as $$
begin
    insert into runs_feedentry (team_id, run_id, interrupt, status)
        values (new.team_id, new.run_id, new.id, new.status);
    return null;
end $$;

create trigger runs_feed_interrupt_made after insert on runs_interrupt for each row
    execute function runs_feed_of_interrupt();

create trigger runs_feed_interrupt_moved after update of status on runs_interrupt for each row
    when (old.status <> new.status) execute function runs_feed_of_interrupt();
