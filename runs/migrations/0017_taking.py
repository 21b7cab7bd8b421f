from django.db import migrations

# The plans of these functions stay cached in each connection; as statements of a message they were
# planned each time, which took ten times as long as to execute them.
TAKE = """
-- Deletes the jobs that a worker has ended and fetches others, at most so many. Claims the run of
-- each that begins its thread; without a generation, the executor has to claim it.
create function agui_take(
    ended bigint[], queues varchar[], worker bigint, task text, moment timestamptz, most integer
) returns table (job procrastinate_jobs, generation integer) language plpgsql as $$
declare
    of_run uuid;
begin
    if cardinality(ended) > 0 then
        delete from procrastinate_jobs where id = any (ended);
    end if;
    for attempt in 1..most loop
        job := procrastinate_fetch_job_v2(queues, worker);
        exit when job.id is null;
        generation := null;
        if job.task_name = task then
            -- A job is fetched before its run is locked, against the order of locks: so nothing
            -- waits here. A run that is running with an empty log was claimed for a worker that
            -- did not hear of it.
            select run.journal_id into of_run
              from runs_run run
              join events_journal log on log.id = run.journal_id
              join runtimes_agent agent on agent.id = run.agent_id
             where run.journal_id = (job.args ->> 'run_id')::uuid
               and log.closed_at is null and log.head = 0
               and run.status in ('queued', 'running') and agent.kind <> 'external'
               and not exists (select from runs_run other where other.thread_id = run.thread_id
                                  and other.journal_id <> run.journal_id)
               and not exists (select from runs_threadhistory h where h.thread_id = run.thread_id)
               for no key update of run, log skip locked;
            if found then
                begin
                    select claim.generation into generation
                      from agui_claim(of_run, moment, array['queued', 'running']) claim;
                exception when lock_not_available then
                    generation := null; -- its team is locked: only its executor waits for that
                end;
            end if;
        end if;
        return next;
    end loop;
end $$;
"""
DROP_TAKE = "drop function agui_take(bigint[], varchar[], bigint, text, timestamptz, integer)"
LOOK = """
-- Whether a run of the team waits for admission or, if asked, an ended one for being added up.
create function agui_has_next(of_team uuid, usual integer, batch integer, uncounted boolean)
    returns boolean language plpgsql stable as $$
begin
    return uncounted and exists (select from runs_endedrun where team_id = of_team)
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
"""
DROP_LOOK = """
drop function agui_check(uuid, bigint, integer, uuid);
drop function agui_teams_with_next(uuid[], integer, integer);
drop function agui_has_next(uuid, integer, integer, boolean);
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0016_runs_by_agent_and_person")]
    operations = [
        migrations.RunSQL(TAKE, DROP_TAKE),
        migrations.RunSQL(LOOK, DROP_LOOK),
    ]
