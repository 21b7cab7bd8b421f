-- Procrastinate notifies no worker when a job ends, so the next run of a thread would wait for the
-- poll (4 to 5 s).
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Notifies the workers of a queue that the next job of a thread can be fetched (5 to 10 ms). Mostly
-- no job waits, since admission gives a job only to a thread's first run; then this does nothing.
create function runs_wake_next_job_of_lock() returns trigger language plpgsql as $$
begin
    if exists (select from procrastinate_jobs where lock = old.lock and status = 'todo') then
        perform pg_notify(
            'procrastinate_queue_v1#' || old.queue_name,
            json_build_object('type', 'job_inserted', 'job_id', old.id)::text
        );
    end if;
    return null;
end $$;

create trigger runs_job_ended after update of status on procrastinate_jobs for each row
    when (old.status = 'doing' and new.status <> 'doing' and old.lock is not null)
    execute function runs_wake_next_job_of_lock();

-- As late as possible: a job may be inserted at the same moment, and notifies by itself.
create constraint trigger runs_job_deleted after delete on procrastinate_jobs
    deferrable initially deferred for each row
    when (old.status = 'doing' and old.lock is not null)
    execute function runs_wake_next_job_of_lock();
