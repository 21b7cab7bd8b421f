-- A worker fetches jobs and claims their runs.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Claims a run in one message and one commit. No row if its log is closed; raises if it is not in a
-- claimable status.
create function agui_claim(of_run uuid, moment timestamptz, claimable text[])
    returns table (generation integer, head integer, asked boolean)
    language plpgsql set lock_timeout = '1s' as $$
declare
    its_thread uuid;
    its_job bigint;
begin
    update events_journal j set writer = j.writer + 1
     where j.id = of_run and j.closed_at is null returning j.writer, j.head into generation, head;
    if not found then
        return;
    end if;
    update runs_run r set status = 'running', started_at = moment, agent_version = (
           select a.version from runtimes_agent a where a.id = r.agent_id)
     where r.journal_id = of_run and r.status = any (claimable)
    returning r.thread_id, r.job_id into its_thread, its_job;
    if not found then
        -- The generation is not ours to keep.
        raise exception 'run % is not queued', of_run using errcode = 'AG002';
    end if;
    -- Virtual time moves on, as a worker takes this run.
    perform setval('runs_virtual_time', greatest(clock.last_value, -job.priority))
       from runs_virtual_time clock, procrastinate_jobs job where job.id = its_job;
    asked := exists (select from runs_interrupt i where i.thread_id = its_thread);
    return next;
end $$;

-- Deletes the jobs that a worker has ended and fetches others, at most so many. Claims the run of
-- each that is alone in its thread, and returns what its executor needs: the versions say whether
-- the worker knows agent, team and limits already. Without a generation, the executor claims it.
create function agui_fetch(
    ended bigint[], queues varchar[], worker bigint, task text, moment timestamptz, most integer
) returns table (
    id bigint, status text, task_name text, priority integer, lock text, queueing_lock text,
    args text, scheduled_at timestamptz, queue_name text, attempts integer, worker_id bigint,
    generation integer, run uuid, team uuid, thread uuid, agent uuid, run_name text,
    parent_name text, version text, run_attempt integer, run_tries integer, repeats uuid,
    input text, context text, started_by text, starter text, created_at timestamptz,
    thread_name text, created_by text, creator text, visibility text,
    agent_version text, team_version text
) language plpgsql security definer as $$
#variable_conflict use_column
declare
    job procrastinate_jobs;
begin
    perform agui_require_scope(null);
    if cardinality(ended) > 0 then
        delete from procrastinate_jobs done where done.id = any (ended);
    end if;
    for number in 1..most loop
        exit when not exists (
            select from procrastinate_jobs waiting
             where waiting.status = 'todo'
               and (queues is null or waiting.queue_name = any (queues)));
        job := procrastinate_fetch_job_v2(queues, worker);
        exit when job.id is null;
        id := job.id; status := job.status; task_name := job.task_name; priority := job.priority;
        lock := job.lock; queueing_lock := job.queueing_lock; args := job.args;
        scheduled_at := job.scheduled_at; queue_name := job.queue_name; attempts := job.attempts;
        worker_id := job.worker_id; generation := null;
        if job.task_name = task then
            -- A job is fetched before its run is locked, against the order of locks: so nothing
            -- waits here. A run that is running with an empty log was claimed for a worker that
            -- did not hear of it.
            select log.writer + 1, r.journal_id, r.team_id, r.thread_id, r.agent_id, r.run_id,
                   r.parent_run_id, r.protocol_version, r.attempt, r.tries, r.repeats_id,
                   agui_whole(r.input), r.context, r.started_by, r.starter, r.created_at,
                   t.thread_id, t.created_by, t.creator, t.visibility,
                   a.xmin, owner.xmin || '.' || coalesce(limits.xmin::text, '') || '.'
                        || exists (select from runs_budget b where b.team_id = r.team_id)
              into generation, run, team, thread, agent, run_name, parent_name, version,
                   run_attempt, run_tries, repeats, input, context, started_by, starter,
                   created_at, thread_name, created_by, creator, visibility,
                   agent_version, team_version
              from runs_run r
              join events_journal log on log.id = r.journal_id
              join runs_thread t on t.id = r.thread_id
              join runtimes_agent a on a.id = r.agent_id
              join teams_team owner on owner.id = r.team_id
              left join teams_teamlimits limits on limits.team_id = r.team_id
             where r.journal_id = (job.args ->> 'run_id')::uuid
               and log.closed_at is null and log.head = 0
               and r.status in ('queued', 'running') and a.kind <> 'external'
               and r.end_user = ''
               and not exists (select from runs_run other where other.thread_id = r.thread_id
                                  and other.journal_id <> r.journal_id)
               and not exists (select from runs_threadhistory h where h.thread_id = r.thread_id)
               for no key update of r, log skip locked;
            if found then
                -- Both rows are locked. Moves virtual time on, as a worker takes this run.
                update events_journal log set writer = generation where log.id = run;
                update runs_run r set status = 'running', started_at = moment, agent_version = (
                       select a.version from runtimes_agent a where a.id = r.agent_id)
                 where r.journal_id = run;
                perform setval('runs_virtual_time', greatest(clock.last_value, -job.priority))
                   from runs_virtual_time clock;
            else
                generation := null;
            end if;
        end if;
        return next;
    end loop;
end $$;
