-- The usage of a team: each change of a run that it has to contain, in the change's transaction.
-- A chore adds them up (runs/lifecycle/usage/rollup.py): no run waits for a row that runs share.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- The name of an end user in the usage: the id that the key's owner gave them, and the prefix of the
-- first of the keys with these end users, so that another key's end user of the same id is another
-- one, and a rotated key's the same.
create function runs_usage_end_user(end_user text, starter text) returns text
    language sql stable as $$
    select 'end:' || end_user || coalesce('@' || (
        select first.prefix from teams_apikey key
          join teams_apikey first on first.team_id = key.team_id
                                 and first.end_user_realm = key.end_user_realm
         where key.id = case when starter like 'key:%' then substr(starter, 5)::uuid end
         order by first.created, first.id limit 1), '')
$$;

-- Adds an ended run to the changes (sign 1), or takes it away (-1). Its owner, unless it is given,
-- is the person whose private thread this is, by actor id; empty for a thread of the team.
-- planner: as usual
create function runs_usage_change(run runs_run, sign smallint, its_owner text)
    returns void language plpgsql as $$
begin
    insert into runs_usagechange (
        team_id, sign, agent_id, agent_version, person, owner, created_at, status,
        error_code, tokens_in, tokens_out,
        tokens_cached, cost, by_model, questions, queued_ms, took_ms)
    values (
        run.team_id, sign, run.agent_id, run.agent_version,
        case run.end_user when '' then run.started_by
                          else runs_usage_end_user(run.end_user, run.starter) end,
        coalesce(its_owner, (select case visibility when 'private' then creator else '' end
                               from runs_thread where id = run.thread_id), ''),
        run.created_at, run.status, run.error_code,
        run.tokens_in, run.tokens_out, run.tokens_cached, run.cost,
        run.by_model, run.questions, run.queued_ms, case when run.started_at is not null then
            greatest(0, 1000 * extract(epoch from run.ended_at - run.started_at)) end);
end $$;

-- A run that ends, is imported, changed after its end, or erased.
create function runs_usage_of_run() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' and old.ended_at is not null then
        perform runs_usage_change(old, -1::smallint, null);
    end if;
    if tg_op <> 'DELETE' and new.ended_at is not null then
        perform runs_usage_change(new, 1::smallint, null);
    end if;
    return null;
end $$;

create trigger runs_usage_run_made after insert on runs_run for each row
    when (new.ended_at is not null) execute function runs_usage_of_run();

create trigger runs_usage_run_changed after update on runs_run for each row
    when ((old.ended_at is not null or new.ended_at is not null) and (
        old.ended_at, old.started_at, old.created_at, old.status, old.team_id, old.agent_id,
        old.agent_version, old.thread_id, old.started_by, old.error_code,
        old.tokens_in, old.tokens_out, old.tokens_cached, old.cost,
        old.by_model, old.questions, old.queued_ms
    ) is distinct from (
        new.ended_at, new.started_at, new.created_at, new.status, new.team_id, new.agent_id,
        new.agent_version, new.thread_id, new.started_by, new.error_code,
        new.tokens_in, new.tokens_out, new.tokens_cached, new.cost,
        new.by_model, new.questions, new.queued_ms))
    execute function runs_usage_of_run();

create trigger runs_usage_run_erased after delete on runs_run for each row
    when (old.ended_at is not null) execute function runs_usage_of_run();

-- A thread that becomes private, open to the team, or another person's: its runs change the owner.
create function runs_usage_of_thread() returns trigger language plpgsql as $$
declare
    former text := case old.visibility when 'private' then old.creator else '' end;
    present text := case new.visibility when 'private' then new.creator else '' end;
begin
    if former <> present then
        perform runs_usage_change(run, -1::smallint, former),
                runs_usage_change(run, 1::smallint, present)
           from runs_run run where run.thread_id = new.id and run.ended_at is not null;
    end if;
    return null;
end $$;

create trigger runs_usage_thread_changed after update on runs_thread for each row
    when ((old.visibility, old.creator) is distinct from (new.visibility, new.creator))
    execute function runs_usage_of_thread();
