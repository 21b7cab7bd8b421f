from importlib import import_module

from django.db import migrations

# A run's job is in the queue of its agent, which is named as in runs/lifecycle/jobs.py. The rest is
# as it was made (0007_starting).
ADMIT = """
-- Gives jobs to the next runs of a team; no row if another process has its lock.
create or replace function agui_admit(
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
        select r.journal_id, r.thread_id, agent.queue as of_agent
          from runs_run r join runtimes_agent agent on agent.id = r.agent_id
         where r.journal_id in (select n.run from agui_next_runs(of_team, usual, batch) n)
           and r.status = 'queued' and r.job_id is null
         order by r.created_at, r.journal_id for no key update of r skip locked
    loop
        job := (procrastinate_defer_jobs_v1(array[row(
            queue || case waiting.of_agent when 'default' then '' else ':' || waiting.of_agent end,
            task, greatest(-2147483648, -(usage.stamp + cardinality(runs))),
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
"""
BEFORE = import_module("runs.migrations.0007_starting").ADMISSION
ADMIT_BEFORE = (
    BEFORE[BEFORE.index("create function agui_admit") : BEFORE.index("-- Admits a new run")]
).replace("create function", "create or replace function")


class Migration(migrations.Migration):
    dependencies = [("runs", "0011_schedules"), ("runtimes", "0003_agent_queue")]
    operations = [migrations.RunSQL(ADMIT, ADMIT_BEFORE)]
