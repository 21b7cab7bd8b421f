-- A start in a fresh thread, in one message (docs/adr/0006-three-messages.md). With the owner's
-- rights it checks the scope once; as separate statements, a policy would check it for each.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- The team's enabled agent of that slug, or its default; of these only, if they are given. A query
-- that calls it is planned as if this stood in it.
-- planner: as usual
create function agui_agent(of_team uuid, wanted text, or_default boolean, only_agents text[])
    returns setof runtimes_agent language sql stable as $$
    select * from runtimes_agent
     where team_id = of_team and enabled and (slug = wanted or or_default and is_default)
       and (only_agents is null or slug = any (only_agents))
     order by slug = wanted desc limit 1
$$;

-- The worker with this link, if a run that is being made can be its own at once, to be handed over
-- (docs/adr/0020-the-handed-start.md): it serves the queue, and no run is before this one. To delete
-- the worker's registration waits for the caller's commit, and then sees the run.
-- planner: as usual
create function agui_take_at_once(its_link uuid, of_queue text, its_stamp bigint)
    returns bigint language plpgsql as $$
declare
    worker bigint := (
        select w.id from runs_worker w
         where w.link = its_link and of_queue = any (w.queues) and not w.draining
           and w.heartbeat > clock_timestamp() - interval '10 seconds' for key share);
begin
    if worker is null or agui_has_old_workers()
        or exists (select from runs_run r where r.due_at is not null
                      and r.due_at <= clock_timestamp() and r.status in ('queued', 'running'))
    then
        return null;
    end if;
    -- Virtual time moves on, as a worker takes this run.
    perform setval('runs_virtual_time', greatest(clock.last_value, its_stamp))
       from runs_virtual_time clock;
    return worker;
end $$;

-- Starts a run in a thread that it makes: thread, journal, run, a line of the audit log and, if it
-- is admitted, its place in the queue or at once the worker with this link, to which it is handed.
-- No row, and nothing written, if there is no such agent, if its kind needs more than this, or if
-- the thread exists. Refuses as agui_check and agui_place do.
create function agui_start_handed(
    of_team uuid, wanted text, or_default boolean, only_agents text[],
    new_thread uuid, thread_name text, new_run uuid, run_name text, parent_name text, version text,
    its_input text, its_question text, its_key text, its_digest text, label text, its_actor text,
    line uuid, its_address text, trace text,
    most_bytes bigint, most_runs integer, since uuid,
    usual integer, batch integer, main_queue text, task text, at_once integer,
    most_queued integer, its_link uuid
) returns table (
    agent uuid, agent_slug text, agent_name text, agent_kind text, agent_on_busy text,
    made timestamptz, job bigint, taken_by bigint, agent_version text, team_version text
) language plpgsql security definer as $$
declare
    its_queue text;
    its_rule text;
    its_version text;
    due timestamptz;
    old_job bigint;
begin
    perform agui_require_scope(of_team);
    select each.id, each.slug, each.name, each.kind, each.on_busy, each.queue, each.on_bad_state,
           each.version
      into agent, agent_slug, agent_name, agent_kind, agent_on_busy, its_queue, its_rule,
           its_version
      from agui_agent(of_team, wanted, or_default, only_agents) each;
    if not found or agent_kind in ('process', 'external') or its_rule = 'refuse' then
        return;
    end if;
    perform agui_check(of_team, most_bytes, most_runs, since);
    insert into runs_thread (
        id, team_id, thread_id, created_by, creator, legal_hold, visibility, title, tags, newest)
    values (
        new_thread, of_team, thread_name, label, its_actor, false, 'team', '', array[]::text[],
        new_run)
    on conflict (team_id, thread_id) do nothing;
    if not found then
        return;
    end if;
    job := agui_stamp_at_once(of_team, usual, new_run);
    if job is not null and its_link is not null then
        taken_by := agui_take_at_once(its_link, its_queue, job);
    end if;
    insert into events_journal (id, head, writer, bytes)
    values (new_run, 0, (taken_by is not null)::integer, 0);
    if job is not null and taken_by is null then
        select m.due, m.job into due, old_job
          from agui_make_due(new_run, new_thread, its_queue, job, trace, null) m;
    end if;
    insert into runs_run (
        journal_id, team_id, thread_id, agent_id, run_id, attempt, tries, parent_run_id,
        protocol_version, status, input, asked, error_code, error_message, idempotency_key,
        request_digest, job_id, stamp, due_at, traceparent, started_by, starter,
        worker, started_at, agent_version)
    values (
        new_run, of_team, new_thread, agent, run_name, 1, 1, parent_name,
        version, case when taken_by is null then 'queued' else 'running' end, its_input, its_question,
        '', '', its_key, its_digest, old_job, job, due, trace, label, its_actor,
        taken_by, case when taken_by is not null then now() end,
        case when taken_by is not null then its_version end)
    returning created_at into made;
    insert into teams_auditentry (id, team_id, who, actor, action, target, details, address)
    values (line, of_team, label, its_actor, 'run.started', new_run::text,
            '{"agent":' || to_json(agent_slug) || '}', its_address);
    if job is null then
        job := agui_place(
            of_team, new_run, usual, batch, main_queue, task, at_once, most_queued);
    end if;
    if taken_by is not null then
        select v.agent_version, v.team_version into agent_version, team_version
          from agui_versions(of_team, agent) v;
    end if;
    return next;
end $$;

-- Places a new run of a thread that exists, as agui_place does: last in the transaction that makes
-- it, which has the thread's lock. Claims the run for the worker with this link, to which it is
-- handed, if it is the thread's only active one and no question of the thread is open. No row if
-- there is no such run.
create function agui_place_handed(
    of_team uuid, of_run uuid, usual integer, batch integer, main_queue text, task text,
    at_once integer, most_queued integer, its_link uuid
) returns table (its_stamp bigint, taken_by bigint) language plpgsql security definer as $$
declare
    made record;
    due timestamptz;
    old_job bigint;
begin
    perform agui_require_scope(of_team);
    select r.thread_id, r.traceparent, a.queue, coalesce(r.wanted_version, a.version) as version,
           a.kind <> 'external'
           and not exists (
               select from runs_run other
                where other.thread_id = r.thread_id and other.status in ('queued', 'running')
                  and other.journal_id <> r.journal_id)
           and not exists (
               select from runs_interrupt i where i.thread_id = r.thread_id and i.status = 'open')
           as may_begin
      into made
      from runs_run r join runtimes_agent a on a.id = r.agent_id
     where r.journal_id = of_run and r.team_id = of_team;
    if not found then
        return;
    end if;
    if made.may_begin then
        its_stamp := agui_stamp_at_once(of_team, usual, of_run);
    end if;
    if its_stamp is null then
        its_stamp := agui_place(
            of_team, of_run, usual, batch, main_queue, task, at_once, most_queued);
        return next;
        return;
    end if;
    taken_by := agui_take_at_once(its_link, made.queue, its_stamp);
    if taken_by is null then
        select m.due, m.job into due, old_job
          from agui_make_due(of_run, made.thread_id, made.queue, its_stamp, made.traceparent, null) m;
        update runs_run set stamp = its_stamp, due_at = due, job_id = old_job
         where journal_id = of_run;
    else
        update events_journal set writer = 1 where id = of_run;
        update runs_run
           set stamp = its_stamp, status = 'running', worker = taken_by, started_at = created_at,
               agent_version = made.version
         where journal_id = of_run;
    end if;
    return next;
end $$;

-- The same by a process of the previous release, which hands nothing over.
create function agui_start_run(
    of_team uuid, wanted text, or_default boolean, only_agents text[],
    new_thread uuid, thread_name text, new_run uuid, run_name text, parent_name text, version text,
    its_input text, its_question text, its_key text, its_digest text, label text, its_actor text,
    line uuid, its_address text, trace text,
    most_bytes bigint, most_runs integer, since uuid,
    usual integer, batch integer, main_queue text, task text, at_once integer,
    most_queued integer
) returns table (
    agent uuid, agent_slug text, agent_name text, agent_kind text, agent_on_busy text,
    made timestamptz, job bigint
) language sql as $$
    select agent, agent_slug, agent_name, agent_kind, agent_on_busy, made, job
      from agui_start_handed(
        of_team, wanted, or_default, only_agents, new_thread, thread_name, new_run, run_name,
        parent_name, version, its_input, its_question, its_key, its_digest, label, its_actor, line,
        its_address, trace, most_bytes, most_runs, since, usual, batch, main_queue, task, at_once,
        most_queued, null)
$$;

-- The same without the question, which a worker reads later.
create function agui_start(
    of_team uuid, wanted text, or_default boolean, only_agents text[],
    new_thread uuid, thread_name text, new_run uuid, run_name text, parent_name text, version text,
    its_input text, its_key text, its_digest text, label text, its_actor text,
    line uuid, its_address text, trace text,
    most_bytes bigint, most_runs integer, since uuid,
    usual integer, batch integer, main_queue text, task text, at_once integer,
    most_queued integer
) returns table (
    agent uuid, agent_slug text, agent_name text, agent_kind text, agent_on_busy text,
    made timestamptz, job bigint
) language sql as $$
    select * from agui_start_run(
        of_team, wanted, or_default, only_agents, new_thread, thread_name, new_run, run_name,
        parent_name, version, its_input, null, its_key, its_digest, label, its_actor, line,
        its_address, trace, most_bytes, most_runs, since, usual, batch, main_queue, task, at_once,
        most_queued)
$$;
