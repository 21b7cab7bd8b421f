from django.db import migrations

# Admission in one round trip (runs/lifecycle/admission.py tells the story). Each statement of a
# volatile function has a snapshot of its own: the count and the pick come after the lock, so they
# see everything committed before.
ADMISSION = """
create function agui_next_runs(of_team uuid, usual integer, batch integer)
    returns table (run uuid, thread uuid) language sql stable as $$
    -- In a thread only the first run that has not ended may go: its number is its time. The order
    -- is that of the index run_waiting: by the primary key alone, a planner would walk over all
    -- ended runs, since it cannot know that the waiting ones are the newest.
    select run.journal_id, run.thread_id from runs_run run
     where run.team_id = of_team and run.status = 'queued' and run.job_id is null
       and not exists (
           select from runs_run earlier
            where earlier.thread_id = run.thread_id and earlier.status in ('queued', 'running')
              and earlier.journal_id < run.journal_id)
     order by run.created_at, run.journal_id
     limit greatest(0, coalesce(nullif(coalesce((
           select concurrent_runs from teams_teamlimits own where own.team_id = of_team),
           usual), 0), batch) - (
           select count(distinct going.job_id) from runs_run going -- children share their parent's
            where going.team_id = of_team and going.status in ('queued', 'running')
              and going.job_id is not null))
$$;

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

-- Gives jobs to the next runs of a team; no row if another process has its lock.
create function agui_admit(
    of_team uuid, usual integer, batch integer, queue text, task text
) returns table (runs uuid[], jobs bigint[], changed boolean) language plpgsql as $$
declare
    usage record;
    waiting record;
    job bigint;
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
    for waiting in
        select r.journal_id, r.thread_id from runs_run r
         where r.journal_id in (select n.run from agui_next_runs(of_team, usual, batch) n)
           and r.status = 'queued' and r.job_id is null
         order by r.created_at, r.journal_id for no key update of r skip locked
    loop
        job := (procrastinate_defer_jobs_v1(array[row(
            queue, task, greatest(-2147483648, -(usage.stamp + cardinality(runs))),
            waiting.thread_id::text, null, jsonb_build_object('run_id', waiting.journal_id), null
        )::procrastinate_job_to_defer_v1]))[1];
        runs := runs || waiting.journal_id;
        jobs := jobs || job;
    end loop;
    changed := usage.uncounted or cardinality(runs) > 0;
    if changed then
        update runs_run r set job_id = given.job
          from unnest(runs, jobs) as given (run, job) where r.journal_id = given.run;
        perform agui_settle(of_team, usage.stamp + cardinality(runs), 0);
    end if;
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
    its_job bigint;
    most bigint := most_queued;
begin
    select * into admitted from agui_admit(of_team, usual, batch, queue, task);
    if not found then
        most := most + at_once;
    end if;
    select job_id into its_job from runs_run where journal_id = of_run;
    if its_job is null and most_queued > 0 and (
        select count(*) from (
            select from runs_run where team_id = of_team and status = 'queued' and job_id is null
             limit most + 1) run) > most
    then
        raise exception 'too many runs of team % wait', of_team using errcode = 'AG001';
    end if;
    return its_job;
end $$;
"""
DROP_ADMISSION = """
drop function agui_place(uuid, uuid, integer, integer, text, text, integer, integer);
drop function agui_admit(uuid, integer, integer, text, text);
drop function agui_settle(uuid, bigint, bigint);
drop function agui_next_runs(uuid, integer, integer);
"""
# One statement, so that the claim of a run costs one round trip and one commit.
CLAIM = """
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
    update runs_run r set status = 'running', started_at = moment
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
"""
DROP_CLAIM = "drop function agui_claim(uuid, timestamptz, text[])"


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_failures")]
    operations = [
        migrations.RunSQL(ADMISSION, DROP_ADMISSION),
        migrations.RunSQL(CLAIM, DROP_CLAIM),
    ]
