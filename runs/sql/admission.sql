-- Admission (docs/architecture.md#admission). Each statement of a volatile function has its own
-- snapshot: the count and the pick come after the lock, so they see everything committed before.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off
-- planner: enable_sort=off

-- Refuses a start of a team that has stored too much or started too many runs since a moment.
create function agui_check(of_team uuid, most_bytes bigint, most_runs integer, since uuid)
    returns void language plpgsql stable as $$
declare
    in_the_way uuid;
begin
    if most_bytes > 0 and most_bytes <= (
        select stored_bytes from runs_teamusage where team_id = of_team
    ) + (select coalesce(sum(bytes), 0) from runs_endedrun where team_id = of_team) then
        raise exception 'team % has stored too much', of_team using errcode = 'AG003';
    end if;
    if most_runs > 0 then
        -- Ids are times, so the index suffices.
        select journal_id into in_the_way from runs_run
         where team_id = of_team and journal_id > since
         order by journal_id desc offset most_runs - 1 limit 1;
        if found then
            raise exception 'team % starts too many runs', of_team
                using errcode = 'AG004', detail = in_the_way::text;
        end if;
    end if;
end $$;

-- How many further runs of the team may be admitted now: a batch where its limit is 0, for none.
-- Without settings, since each of its callers has them.
-- planner: as usual
create function agui_room(of_team uuid, usual integer, batch integer)
    returns integer language plpgsql stable as $$
declare
    most integer := coalesce((
        select concurrent_runs from teams_teamlimits where team_id = of_team), usual);
begin
    if most = 0 then
        return batch;
    end if;
    return greatest(0, most - (
        select count(*) from (
            select from runs_run -- children have no stamp
             where team_id = of_team and status in ('queued', 'running') and stamp is not null
             order by stamp) going));
end $$;

-- The team's runs to admit next, as many as it has room for. Without settings, so that PostgreSQL
-- can inline it into the calling query.
-- planner: as usual
create function agui_next_runs(of_team uuid, usual integer, batch integer)
    returns table (run uuid, thread uuid) language sql stable as $$
    -- In a thread only the first run that has not ended may go: its number is its time. The order
    -- is that of the index run_in_line, also the count's: by another index a planner would walk
    -- over all ended runs, since it cannot know that the waiting ones are few.
    select run.journal_id, run.thread_id from runs_run run
     where run.team_id = of_team and run.status = 'queued' and run.stamp is null
       and not exists (
           select from runs_run earlier
            where earlier.thread_id = run.thread_id and earlier.status in ('queued', 'running')
              and earlier.journal_id < run.journal_id)
     order by run.stamp, run.created_at, run.journal_id
     limit agui_room(of_team, usual, batch)
$$;

-- Whether a run of the team waits for admission or, if a sweep asks, an ended one for being added up
-- or a due one for a job.
create function agui_has_next(of_team uuid, usual integer, batch integer, uncounted boolean)
    returns boolean language plpgsql stable as $$
begin
    return uncounted and (exists (select from runs_endedrun where team_id = of_team)
                          or exists (select from agui_unseen_runs(of_team)))
        or exists (select from agui_next_runs(of_team, usual, batch));
end $$;

-- The teams of these runs in which a run waits for admission.
create function agui_teams_with_next(ended uuid[], usual integer, batch integer)
    returns setof uuid language plpgsql stable as $$
begin
    return query
        select team.id from (select distinct team_id as id from runs_run
                              where journal_id = any (ended)) team
         where agui_has_next(team.id, usual, batch, false);
end $$;

-- Adds up what the team's ended runs stored, and moves its stamp on.
create function agui_settle(of_team uuid, to_stamp bigint, freed bigint)
    returns void language sql as $$
    with ended as (delete from runs_endedrun where team_id = of_team returning bytes)
    update runs_teamusage
       set stamp = greatest(stamp, to_stamp),
           stored_bytes = greatest(0, stored_bytes - freed
                                      + (select coalesce(sum(bytes), 0) from ended))
     where team_id = of_team
$$;

-- Whether a worker of the previous release is there: it is registered in Procrastinate only.
create function agui_has_old_workers() returns boolean
    language sql stable security definer as $$
    select exists (
        select from procrastinate_workers old
         where old.last_heartbeat > now() - interval '30 seconds'
           and not exists (select from runs_worker w where w.chores = old.id))
$$;

-- Whether only workers of the previous release serve a queue; they need a job of Procrastinate. With
-- the owner's rights, since workers belong to no team.
create function agui_needs_a_job(of_queue text) returns boolean
    language sql stable security definer as $$
    select not exists (
        select from runs_worker w
         where of_queue = any (w.queues) and w.heartbeat > now() - interval '30 seconds')
       and agui_has_old_workers()
$$;

-- The team's due runs that only workers of the previous release could execute: after a rollback.
create function agui_unseen_runs(of_team uuid)
    returns table (run uuid) language plpgsql stable as $$
begin
    if agui_has_old_workers() then
        return query
            select r.journal_id from runs_run r join runtimes_agent a on a.id = r.agent_id
             where r.team_id = of_team and r.status in ('queued', 'running')
               and r.stamp is not null and r.due_at is not null and r.job_id is null
               and agui_needs_a_job(a.queue)
             order by r.stamp; -- by its index, which has no run that waits
    end if;
end $$;

-- A worker of a queue that has free places, by chance; null if none has. Where the worker that is
-- notified has none after all, or is dead, another one finds the run with its next look.
create function agui_free_worker(of_queue text) returns bigint
    language sql volatile security definer as $$
    select w.id from runs_worker w
     where of_queue = any (w.queues) and w.free > 0 and not w.draining
       and w.heartbeat > now() - interval '10 seconds'
     order by random() limit 1
$$;

-- Lets a worker take a run that has its stamp, from a moment on: with a notification of one worker
-- of the queue, or of all; or with a job if its workers are of the previous release.
create function agui_make_due(
    of_run uuid, of_thread uuid, of_queue text, its_stamp bigint, trace text, from_when timestamptz,
    out due timestamptz, out job bigint
) language plpgsql as $$
begin
    if agui_needs_a_job(of_queue) then
        job := (procrastinate_defer_jobs_v1(array[row(
            'runs' || case of_queue when 'default' then '' else ':' || of_queue end,
            'runs.tasks.execute_run', greatest(-2147483648, -its_stamp), of_thread::text, null,
            jsonb_strip_nulls(jsonb_build_object('run_id', of_run, 'traceparent', trace)),
            from_when)::procrastinate_job_to_defer_v1]))[1];
        return;
    end if;
    due := coalesce(from_when, now());
    if from_when is null then
        perform pg_notify('agui_runs', concat('queue:', agui_free_worker(of_queue), ':', of_queue));
    end if;
end $$;

-- Gives jobs to the team's runs that no worker of this release is there to take; how many. Each is
-- found by its key: a join could begin with the table of all runs where its statistics are old.
create function agui_give_jobs(of_team uuid) returns integer language plpgsql as $$
declare
    unseen uuid;
    waiting record;
    given integer := 0;
begin
    for unseen in select u.run from agui_unseen_runs(of_team) u loop
        select r.journal_id, r.thread_id, r.stamp, r.traceparent, a.queue as of_agent,
               case when r.due_at > now() then r.due_at end as later
          into waiting
          from runs_run r join runtimes_agent a on a.id = r.agent_id
         where r.journal_id = unseen and r.due_at is not null
           for no key update of r skip locked;
        continue when not found;
        update runs_run r set due_at = made.due, job_id = made.job
          from agui_make_due(waiting.journal_id, waiting.thread_id, waiting.of_agent,
                             waiting.stamp, waiting.traceparent, waiting.later) made
         where r.journal_id = waiting.journal_id;
        given := given + 1;
    end loop;
    return given;
end $$;

-- Gives stamps to the next runs of a team; no row if another process has its lock. The names of
-- parameters and columns are those of the previous release: the queue and the task are not used.
create function agui_admit(
    of_team uuid, usual integer, batch integer, queue text, task text
) returns table (runs uuid[], jobs bigint[], changed boolean) language plpgsql as $$
declare
    usage record;
    next record;
    waiting record;
    made record;
    its_stamp bigint;
begin
    for attempt in 1..2 loop
        select greatest(u.stamp, (select last_value from runs_virtual_time)) as stamp,
               exists (select from runs_endedrun e where e.team_id = u.team_id) as uncounted
          into usage
          from runs_teamusage u where u.team_id = of_team for no key update of u skip locked;
        exit when found;
        -- This waits only for another of a team's first starts ever.
        insert into runs_teamusage (team_id) values (of_team) on conflict do nothing;
        if not found then
            return;
        end if;
    end loop;
    runs := array[]::uuid[];
    jobs := array[]::bigint[];
    for next in select n.run from agui_next_runs(of_team, usual, batch) n loop
        select r.journal_id, r.thread_id, r.job_id, r.traceparent, agent.queue as of_agent
          into waiting
          from runs_run r join runtimes_agent agent on agent.id = r.agent_id
         where r.journal_id = next.run and r.status = 'queued' and r.stamp is null
           for no key update of r skip locked;
        continue when not found;
        its_stamp := usage.stamp + cardinality(runs);
        select null::timestamptz as due, waiting.job_id as job into made;
        if waiting.job_id is null then
            select m.due, m.job into made from agui_make_due(
                waiting.journal_id, waiting.thread_id, waiting.of_agent, its_stamp,
                waiting.traceparent, null) m;
        end if;
        update runs_run r set stamp = its_stamp, due_at = made.due, job_id = made.job
         where r.journal_id = waiting.journal_id;
        runs := runs || waiting.journal_id;
        jobs := jobs || its_stamp;
    end loop;
    changed := usage.uncounted or cardinality(runs) > 0;
    if changed then
        perform agui_settle(of_team, usage.stamp + cardinality(runs), 0);
    end if;
    changed := agui_give_jobs(of_team) > 0 or changed;
    return next;
end $$;

-- Admits a new run, or leaves it queued; last in the transaction that makes it. Refused if more
-- than most_queued runs of its team wait, and as many as fit at once if another process is just
-- admitting some of them.
create function agui_place(
    of_team uuid, of_run uuid, usual integer, batch integer, queue text, task text,
    at_once integer, most_queued integer
) returns bigint language plpgsql as $$
declare
    admitted record;
    its_stamp bigint;
    most bigint := most_queued;
begin
    select * into admitted from agui_admit(of_team, usual, batch, queue, task);
    if not found then
        most := most + at_once;
    end if;
    select stamp into its_stamp from runs_run where journal_id = of_run;
    if its_stamp is null and most_queued > 0 and (
        select count(*) from (
            select from runs_run where team_id = of_team and status = 'queued' and stamp is null
             order by stamp, created_at, journal_id limit most + 1) run) > most
    then
        raise exception 'too many runs of team % wait', of_team using errcode = 'AG001';
    end if;
    return its_stamp;
end $$;

-- The stamp of a run that is being made and is the first active one of its thread, if nothing is to
-- be weighed: nobody else is admitting for its team, no other run of it waits, and it has room. Else
-- null, and the caller leaves it to agui_place. The run itself may have been inserted.
create function agui_stamp_at_once(of_team uuid, usual integer, of_run uuid)
    returns bigint language plpgsql as $$
declare
    its_stamp bigint;
begin
    select greatest(usage.stamp, (select last_value from runs_virtual_time)) into its_stamp
      from runs_teamusage usage where usage.team_id = of_team for no key update skip locked;
    if not found or (
        select true from runs_run
         where team_id = of_team and status = 'queued' and stamp is null and journal_id <> of_run
         order by stamp, created_at, journal_id limit 1)
    then
        return null;
    end if;
    if agui_room(of_team, usual, 1) = 0 then
        return null;
    end if;
    perform agui_settle(of_team, its_stamp + 1, 0);
    return its_stamp;
end $$;
