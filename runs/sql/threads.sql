-- A thread's newest run, which orders the list of threads. The thread's row is locked already
-- wherever a run is made, so that runs of one thread come here one after another.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Notes the run as its thread's newest. `agui_start_handed` has noted it with the thread that it
-- makes.
create function runs_newest_of_thread() returns trigger language plpgsql as $$
begin
    update runs_thread set newest = new.journal_id
     where id = new.thread_id and (newest is null or newest < new.journal_id);
    return null;
end $$;

create trigger runs_newest_of_thread after insert on runs_run for each row
    execute function runs_newest_of_thread();
