from django.db import migrations

# A start in a fresh thread, and all that a worker needs of it, by one message each
# (docs/adr/0006). Functions with the owner's rights look at the scope once; as statements of the
# application, each would ask for it by its policy.
START = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Raises unless the scope reaches the team; without one, unless it reaches all teams.
create function agui_require_scope(of_team uuid) returns void language plpgsql stable as $$
declare
    scope text := current_setting('agui.teams', true);
begin
    if scope <> '*' and (of_team is null or of_team::text <> all (string_to_array(scope, ','))) then
        raise insufficient_privilege using message = 'the scope does not reach this team';
    end if;
end $$;

-- The team's enabled agent of that slug, or its default; of these only, if they are given. A query
-- that calls it is planned as if this stood in it.
create function agui_agent(of_team uuid, wanted text, or_default boolean, only_agents text[])
    returns setof runtimes_agent language sql stable as $$
    select * from runtimes_agent
     where team_id = of_team and enabled and (slug = wanted or or_default and is_default)
       and (only_agents is null or slug = any (only_agents))
     order by slug = wanted desc limit 1
$$;

-- Gives a job to a run that is being made in a fresh thread, if nothing is to be weighed: nobody
-- else is admitting for its team, none of its runs waits, and it has room. Else null, and the
-- caller leaves it to agui_place.
create function agui_admit_at_once(
    of_team uuid, of_thread uuid, of_run uuid, queue text, task text, usual integer, trace text
) returns bigint language plpgsql as $$
declare
    its_stamp bigint;
    most integer;
begin
    select greatest(usage.stamp, (select last_value from runs_virtual_time)) into its_stamp
      from runs_teamusage usage where usage.team_id = of_team for no key update skip locked;
    if not found or exists (
        select from runs_run where team_id = of_team and status = 'queued' and job_id is null)
    then
        return null;
    end if;
    most := coalesce((select concurrent_runs from teams_teamlimits where team_id = of_team), usual);
    if most > 0 and most <= (
        select count(distinct job_id) from runs_run -- children share their parent's
         where team_id = of_team and status in ('queued', 'running') and job_id is not null)
    then
        return null;
    end if;
    perform agui_settle(of_team, its_stamp + 1, 0);
    return (procrastinate_defer_jobs_v1(array[row(
        queue, task, greatest(-2147483648, -its_stamp), of_thread::text, null,
        jsonb_strip_nulls(jsonb_build_object('run_id', of_run, 'traceparent', trace)), null
    )::procrastinate_job_to_defer_v1]))[1];
end $$;

-- Starts a run in a thread that it makes: thread, journal, run, a line of the audit log and, if it
-- is admitted, its job. No row, and nothing written, if there is no such agent, if its kind needs
-- more than this, or if the thread exists. Refuses as agui_check and agui_place do.
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
) language plpgsql security definer set search_path from current as $$
declare
    its_queue text;
begin
    perform agui_require_scope(of_team);
    select each.id, each.slug, each.name, each.kind, each.on_busy,
           main_queue || case each.queue when 'default' then '' else ':' || each.queue end
      into agent, agent_slug, agent_name, agent_kind, agent_on_busy, its_queue
      from agui_agent(of_team, wanted, or_default, only_agents) each;
    if not found or agent_kind in ('process', 'external') then
        return;
    end if;
    perform agui_check(of_team, most_bytes, most_runs, since);
    insert into runs_thread (
        id, team_id, thread_id, created_by, creator, legal_hold, visibility, title, tags)
    values (
        new_thread, of_team, thread_name, label, its_actor, false, 'team', '', array[]::text[])
    on conflict (team_id, thread_id) do nothing;
    if not found then
        return;
    end if;
    insert into events_journal (id, head, writer, bytes) values (new_run, 0, 0, 0);
    job := agui_admit_at_once(of_team, new_thread, new_run, its_queue, task, usual, trace);
    insert into runs_run (
        journal_id, team_id, thread_id, agent_id, run_id, attempt, tries, parent_run_id,
        protocol_version, status, input, error_code, error_message, idempotency_key,
        request_digest, job_id, started_by, starter)
    values (
        new_run, of_team, new_thread, agent, run_name, 1, 1, parent_name,
        version, 'queued', its_input, '', '', its_key, its_digest, job, label, its_actor)
    returning created_at into made;
    insert into teams_auditentry (id, team_id, who, actor, action, target, details, address)
    values (line, of_team, label, its_actor, 'run.started', new_run::text,
            '{"agent":' || to_json(agent_slug) || '}', its_address);
    if job is null then
        job := agui_place(
            of_team, new_run, usual, batch, main_queue, task, at_once, most_queued);
        if job is not null and trace is not null then
            update procrastinate_jobs
               set args = args || jsonb_build_object('traceparent', trace) where id = job;
        end if;
    end if;
    return next;
end $$;
"""
DROP_START = """
drop function agui_start(
    uuid, text, boolean, text[], uuid, text, uuid, text, text, text, text, text, text, text, text,
    uuid, text, text, bigint, integer, uuid, integer, integer, text, text, integer, integer);
drop function agui_admit_at_once(uuid, uuid, uuid, text, text, integer, text);
drop function agui_agent(uuid, text, boolean, text[]);
drop function agui_require_scope(uuid);
"""
# agui_take (0017) stays for workers of the version before, while a deploy replaces them.
FETCH = """
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
) language plpgsql security definer set search_path from current as $$
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
                   r.input, r.context, r.started_by, r.starter, r.created_at,
                   t.thread_id, t.created_by, t.creator, t.visibility,
                   a.xmin, owner.xmin || '.' || coalesce(limits.xmin::text, '')
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
               and not exists (select from runs_run other where other.thread_id = r.thread_id
                                  and other.journal_id <> r.journal_id)
               and not exists (select from runs_threadhistory h where h.thread_id = r.thread_id)
               for no key update of r, log skip locked;
            if found then
                -- Both rows are locked. Moves virtual time on, as a worker takes this run.
                update events_journal log set writer = generation where log.id = run;
                update runs_run r set status = 'running', started_at = moment
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
"""
DROP_FETCH = "drop function agui_fetch(bigint[], varchar[], bigint, text, timestamptz, integer)"
# Procrastinate writes a row for each change of a job. Those of runs have a journal instead, and are
# deleted at their end. The names are Procrastinate's, so that its migrations find its triggers.
RUNS = "'runs.tasks.execute_run'"
TRIGGERS = """
drop trigger procrastinate_trigger_status_events_insert_v1 on procrastinate_jobs;
create trigger procrastinate_trigger_status_events_insert_v1
    after insert on procrastinate_jobs for each row
    when (new.status = 'todo'{new})
    execute procedure procrastinate_trigger_function_status_events_insert_v1();
drop trigger procrastinate_trigger_status_events_update_v1 on procrastinate_jobs;
create trigger procrastinate_trigger_status_events_update_v1
    after update of status on procrastinate_jobs for each row{when}
    execute procedure procrastinate_trigger_function_status_events_update_v1();
drop trigger procrastinate_trigger_delete_jobs_v1 on procrastinate_jobs;
create trigger procrastinate_trigger_delete_jobs_v1
    before delete on procrastinate_jobs for each row{old}
    execute procedure procrastinate_unlink_periodic_defers_v1();
"""
WITHOUT_RUNS = TRIGGERS.format(
    new=f" and new.task_name <> {RUNS}",
    when=f" when (new.task_name <> {RUNS})",
    old=f" when (old.task_name <> {RUNS})",
)
AS_BEFORE = TRIGGERS.format(new="", when="", old="")
# Admission gives a job to the first run of a thread only, so mostly none waits for the lock, and
# nobody needs to be woken. Looked at as late as possible: a job may come at the same moment, and
# wakes somebody itself.
WAKE = """
create index runs_job_waiting_for_lock on procrastinate_jobs (lock) where status = 'todo';
create or replace function runs_wake_next_job_of_lock() returns trigger language plpgsql as $$
begin
    if exists (select from procrastinate_jobs where lock = old.lock and status = 'todo') then
        perform pg_notify(
            'procrastinate_queue_v1#' || old.queue_name,
            json_build_object('type', 'job_inserted', 'job_id', old.id)::text
        );
    end if;
    return null;
end $$;
drop trigger runs_job_deleted on procrastinate_jobs;
create constraint trigger runs_job_deleted after delete on procrastinate_jobs
    deferrable initially deferred for each row
    when (old.status = 'doing' and old.lock is not null)
    execute function runs_wake_next_job_of_lock();
"""
WAKE_ALWAYS = """
drop trigger runs_job_deleted on procrastinate_jobs;
create trigger runs_job_deleted after delete on procrastinate_jobs for each row
    when (old.status = 'doing' and old.lock is not null)
    execute function runs_wake_next_job_of_lock();
create or replace function runs_wake_next_job_of_lock() returns trigger language plpgsql as $$
begin
    perform pg_notify(
        'procrastinate_queue_v1#' || old.queue_name,
        json_build_object('type', 'job_inserted', 'job_id', old.id)::text
    );
    return null;
end;
$$;
drop index runs_job_waiting_for_lock;
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0020_words"), ("events", "0005_fence_of_one")]
    operations = [
        migrations.RunSQL(START, DROP_START),
        migrations.RunSQL(FETCH, DROP_FETCH),
        migrations.RunSQL(WITHOUT_RUNS, AS_BEFORE),
        migrations.RunSQL(WAKE, WAKE_ALWAYS),
    ]
