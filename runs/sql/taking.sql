-- A worker takes runs and claims them.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off
-- former: agui_fetch

-- Claims a run in one message and one commit. No row if its log is closed; raises if it is not in a
-- claimable status.
create function agui_claim(of_run uuid, moment timestamptz, claimable text[])
    returns table (generation integer, head integer, asked boolean)
    language plpgsql set lock_timeout = '1s' as $$
declare
    its_thread uuid;
    its_stamp bigint;
begin
    update events_journal j set writer = j.writer + 1
     where j.id = of_run and j.closed_at is null returning j.writer, j.head into generation, head;
    if not found then
        return;
    end if;
    update runs_run r set status = 'running', started_at = moment, due_at = null,
           agent_version = coalesce(r.wanted_version, (
               select a.version from runtimes_agent a where a.id = r.agent_id))
     where r.journal_id = of_run and r.status = any (claimable)
    returning r.thread_id, r.stamp into its_thread, its_stamp;
    if not found then
        -- The generation is not ours to keep.
        raise exception 'run % is not queued', of_run using errcode = 'AG002';
    end if;
    -- Virtual time moves on, as a worker takes this run.
    perform setval('runs_virtual_time', greatest(clock.last_value, its_stamp))
       from runs_virtual_time clock where its_stamp is not null;
    asked := exists (select from runs_interrupt i where i.thread_id = its_thread);
    return next;
end $$;

-- How many runs on probation a worker executes at a time, if this run is one of them at this
-- moment; else null. It is after two losses, if the last attempt was lost within a minute, until
-- the present one has lasted twice as long: in groups of eight, from the third loss on alone.
create function agui_group(of_run uuid, moment timestamptz)
    returns integer language sql stable as $$
    select case when lost.times = 2 then 8 else 1 end
      from (select count(*) as times from runs_recovery
             where run_id = of_run and reason = 'worker_lost' and counts) lost
     cross join lateral (
            select number, at, taken_at from runs_recovery
             where run_id = of_run order by number desc limit 1) newest
      join runs_recovery before on before.run_id = of_run and before.number = newest.number - 1
     where lost.times >= 2 and newest.at < before.taken_at + interval '1 minute'
       and (newest.taken_at is null or moment < newest.taken_at + interval '1 second'
            + 2 * (newest.at - before.taken_at))
$$;

-- The versions of a team with its limits and budgets, and of an agent: a worker that has read both
-- compares them.
-- planner: as usual
create function agui_versions(of_team uuid, of_agent uuid)
    returns table (agent_version text, team_version text) language sql stable as $$
    select a.xmin::text, owner.xmin || '.' || coalesce(limits.xmin::text, '') || '.'
           || exists (select from runs_budget b where b.team_id = of_team)
      from runtimes_agent a
      join teams_team owner on owner.id = of_team
      left join teams_teamlimits limits on limits.team_id = of_team
     where a.id = of_agent
$$;

-- Takes the next runs of these queues for a worker, at most so many. Claims each run that is alone
-- in its thread, and returns what its executor needs: the versions say whether the worker knows
-- agent, team and limits already. A run with a history is claimed here only if its start had claimed
-- it before, and has no input: its executor reads both. Without a generation, the executor claims
-- the run. A worker whose registration is gone takes nothing; to delete one waits for this. A worker
-- has few runs on probation at a time: if one of them kills it, the host knows which they were.
create function agui_take_due_runs(
    by_worker bigint, of_queues text[], moment timestamptz, most integer, reads_threads boolean
) returns table (
    run uuid, team uuid, traceparent text,
    generation integer, thread uuid, agent uuid, run_name text,
    parent_name text, version text, run_attempt integer, run_tries integer, repeats uuid,
    input text, context text, started_by text, starter text, created_at timestamptz,
    thread_name text, created_by text, creator text, visibility text,
    agent_version text, team_version text
) language plpgsql security definer as $$
#variable_conflict use_column
declare
    due record;
    is_alone boolean;
    is_unbegun boolean;
begin
    perform agui_require_scope(null);
    perform from runs_worker registered where registered.id = by_worker for key share;
    if not found then
        return;
    end if;
    for due in
        select r.journal_id, r.team_id, r.stamp, r.traceparent, r.status
          from runs_run r
         where r.due_at is not null and r.due_at <= clock_timestamp()
           and r.status in ('queued', 'running')
           and r.job_id is null -- else a worker of the previous release has it
           and (select a.queue from runtimes_agent a where a.id = r.agent_id) = any (of_queues)
         order by r.stamp, r.journal_id limit most
           for no key update of r skip locked
    loop
        if due.status = 'running' and (
            select count(*) >= least(min(here.most), agui_group(due.journal_id, clock_timestamp()))
              from runs_run other
             cross join lateral (
                    select agui_group(other.journal_id, clock_timestamp()) as most) here
             where other.worker = by_worker and other.status = 'running' and here.most is not null
               and agui_group(due.journal_id, clock_timestamp()) is not null)
        then
            update runs_run r set due_at = clock_timestamp() + interval '1 second'
             where r.journal_id = due.journal_id;
            continue;
        end if;
        run := due.journal_id; team := due.team_id; traceparent := due.traceparent;
        -- A run is locked before its log, against the order of locks: so nothing waits here. A run
        -- that is running with an empty log was claimed for a worker that did not hear of it, unless
        -- it has lost a worker: then its agent may have been called, and is told so.
        select log.writer + 1, r.thread_id, r.agent_id, r.run_id,
               r.parent_run_id, r.protocol_version, r.attempt, r.tries, r.repeats_id,
               case when here.alone then agui_whole(r.input) end, r.context, r.started_by, r.starter,
               r.created_at,
               t.thread_id, t.created_by, t.creator, t.visibility,
               known.agent_version, known.team_version, here.alone
          into generation, thread, agent, run_name, parent_name, version,
               run_attempt, run_tries, repeats, input, context, started_by, starter,
               created_at, thread_name, created_by, creator, visibility,
               agent_version, team_version, is_alone
          from runs_run r
          join events_journal log on log.id = r.journal_id
          join runs_thread t on t.id = r.thread_id
          join runtimes_agent a on a.id = r.agent_id
         cross join agui_versions(r.team_id, r.agent_id) known
         cross join lateral (
                select r.end_user = '' and r.wanted_version is null
                       and not exists (
                           select from runs_run other where other.thread_id = r.thread_id
                              and other.journal_id <> r.journal_id)
                       and not exists (
                           select from runs_threadhistory h where h.thread_id = r.thread_id)
                       as alone) here
         where r.journal_id = due.journal_id
           and log.closed_at is null and log.head = 0 and a.kind <> 'external'
           and (here.alone or due.status = 'running')
           and (due.status = 'queued'
                or not exists (select from runs_recovery lost where lost.run_id = r.journal_id))
           for no key update of log skip locked;
        is_unbegun := found;
        if is_unbegun and (is_alone or reads_threads) then
            update events_journal log set writer = generation where log.id = due.journal_id;
            update runs_run r
               set status = 'running', started_at = moment, worker = by_worker, due_at = null,
                   agent_version = coalesce(r.wanted_version, (
                       select a.version from runtimes_agent a where a.id = r.agent_id))
             where r.journal_id = due.journal_id;
            -- Virtual time moves on, as a worker takes this run.
            perform setval('runs_virtual_time', greatest(clock.last_value, due.stamp))
               from runs_virtual_time clock;
        else
            generation := null;
            update runs_run r
               set worker = by_worker, due_at = null,
                   status = case when is_unbegun then 'queued' else r.status end,
                   started_at = case when not is_unbegun then r.started_at end
             where r.journal_id = due.journal_id;
        end if;
        return next;
    end loop;
end $$;

-- The same by a process of the previous release, whose executors claim each run with a history
-- themselves. So a run that its start had claimed is queued again.
create function agui_take_runs(
    by_worker bigint, of_queues text[], moment timestamptz, most integer
) returns table (
    run uuid, team uuid, traceparent text,
    generation integer, thread uuid, agent uuid, run_name text,
    parent_name text, version text, run_attempt integer, run_tries integer, repeats uuid,
    input text, context text, started_by text, starter text, created_at timestamptz,
    thread_name text, created_by text, creator text, visibility text,
    agent_version text, team_version text
) language sql as $$
    select * from agui_take_due_runs(by_worker, of_queues, moment, most, false)
$$;

-- Ends a worker's registration, and that of its chores. Waits for a take of the worker that is under
-- way. Each process sees soon that it is gone, and a run of a worker without one has no worker.
create function agui_end_worker(of_worker bigint) returns void language sql as $$
    with gone as (delete from runs_worker where id = of_worker returning chores)
    delete from procrastinate_workers old using gone where old.id = gone.chores
$$;
