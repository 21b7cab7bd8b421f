-- Budgets: what runs spend is added as rows, and counted under the locks of the team's budgets.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- The names by which budgets find a run: its team, agent, thread, itself, and its starter.
-- planner: as usual
create function agui_budget_keys(
    team uuid, agent uuid, thread uuid, run uuid, starter text
) returns text[] language sql immutable as $$
    select array[team::text, agent::text, thread::text, run::text, starter]
$$;

-- The id of the person for whom a key started a run, by which budgets find it as well: the maker of
-- its thread. Another key's end user of the same name has another id.
-- planner: as usual
create function agui_budget_of_end_user(of_thread uuid, end_user text)
    returns text[] language sql stable as $$
    select case when end_user = '' then array[]::text[]
                else array(select creator::text from runs_thread where id = of_thread) end
$$;

-- The start of a budget's present period; for one without periods, the start of all time.
-- planner: as usual
create function agui_budget_begins(period text) returns timestamptz language sql stable as $$
    select case when period = '' then '-infinity'::timestamptz
                else date_trunc(period, now() at time zone 'utc') at time zone 'utc' end
$$;

-- The end of a budget's present period; null for one without periods.
-- planner: as usual
create function agui_budget_ends(period text) returns timestamptz language sql stable as $$
    select case when period <> '' then
        (date_trunc(period, now() at time zone 'utc') + ('1 ' || period)::interval)
        at time zone 'utc' end
$$;

-- Counts the spending of the team's runs in its budgets; the caller holds the locks until it ends.
-- A run that has ended without spending counts as a call of nothing, and at each new period the
-- largest call is halved, so that one exceptional call does not hold back runs for good.
create function agui_settle_spent(of_team uuid) returns void language plpgsql as $$
begin
    perform from runs_budget where team_id = of_team order by id for no key update;
    update runs_budget set used = 0, since = agui_budget_begins(period), largest = largest / 2
     where team_id = of_team and since < agui_budget_begins(period);
    with counted as (delete from runs_spent where team_id = of_team returning *),
    sums as (
        select budget.id, count(*) as calls, sum(part.amount) as amount,
               max(part.amount) as largest
          from counted join runs_budget budget
            on budget.team_id = of_team and budget.key = any (counted.keys)
           and counted.at >= budget.since
         cross join lateral (
            select case when budget.unit = 'tokens' then counted.tokens
                        else counted.cost end as amount) part
         group by budget.id)
    update runs_budget set used = greatest(0, used + sums.amount),
                           largest = greatest(runs_budget.largest, sums.largest),
                           calls = runs_budget.calls + sums.calls
      from sums where runs_budget.id = sums.id;
    with gone as (
        delete from runs_budgetedrun
         where team_id = of_team and not exists (
            select from runs_run run
             where run.journal_id = runs_budgetedrun.run_id and run.status = 'running')
        returning *),
    free as (
        select budget.id, count(*) as calls
          from gone join runs_budget budget
            on budget.team_id = of_team and budget.key = any (gone.keys)
         where gone.tokens = 0 and gone.cost = 0 and not gone.waits
         group by budget.id)
    update runs_budget set calls = runs_budget.calls + free.calls
      from free where runs_budget.id = free.id;
end $$;

-- Counts the spending of a run so far. The budget that stops it, if there is one: more than its max
-- is used or, before a run ``begins``, all of it; with the reserves of the other runs, unless this
-- was the ``last`` call. While a budget learns how large calls are, only as many runs begin as it
-- has counted calls, and one more; but no run waits for that longer than ten seconds, since most of
-- a new budget is left, and a child not at all. A run that is refused before it begins can ask again.
create function agui_spend(
    of_run uuid, all_tokens bigint, all_cost numeric, begins boolean, last boolean
) returns setof runs_budget language plpgsql as $$
declare
    its_team uuid;
    its_keys text[];
    is_child boolean;
    learns boolean;
begin
    select team_id, agui_budget_keys(team_id, agent_id, thread_id, journal_id, starter)
                    || agui_budget_of_end_user(thread_id, end_user), parent_id is not null
      into its_team, its_keys, is_child from runs_run where journal_id = of_run;
    perform from runs_budget where team_id = its_team order by id for no key update;
    if not found then
        return;
    end if;
    insert into runs_budgetedrun (run_id, team_id, keys) values (of_run, its_team, its_keys)
        on conflict (run_id) do nothing;
    insert into runs_spent (team_id, run_id, keys, tokens, cost, at)
    select its_team, of_run, its_keys, all_tokens - tokens, all_cost - cost, clock_timestamp()
      from runs_budgetedrun
     where run_id = of_run and (tokens <> all_tokens or cost <> all_cost) and not begins;
    update runs_budgetedrun set tokens = all_tokens, cost = all_cost
     where run_id = of_run and not begins;
    perform agui_settle_spent(its_team);
    learns := begins and not is_child and exists (
        select from runs_budgetedrun own
         where own.run_id = of_run and own.asked_at > clock_timestamp() - interval '10 seconds');
    return query
    select budget.* from runs_budget budget
     cross join lateral (
        select count(*) as number,
               case when last then 0
                    else coalesce(budget.reserve, budget.largest) * count(*) end as kept
          from runs_budgetedrun other
         where other.team_id = its_team and other.run_id <> of_run and not other.waits
           and budget.key = any (other.keys)) others
     where budget.team_id = its_team and budget.key = any (its_keys)
       and (budget.used + others.kept > budget.max
            or begins and budget.used + others.kept >= budget.max
            or learns and budget.reserve is null and others.number > budget.calls)
     order by budget.used >= budget.max desc, budget.at_limit desc, budget.id limit 1;
    if begins then
        update runs_budgetedrun set waits = found where run_id = of_run;
    end if;
end $$;

-- A budget that reaches 80 % makes a notice, once in its period; again after it was raised.
-- planner: as usual
create function agui_budget_warns() returns trigger language plpgsql as $$
declare
    -- The key of an agent, run or thread; other scopes have other names.
    object uuid := case when new.scope in ('agent', 'run', 'thread')
                         and new.key ~ '^[0-9a-f-]{36}$' then new.key::uuid end;
begin
    if new.used < new.max * 0.8 then
        if new.max > old.max then
            new.warned_since := null;
        end if;
        return new;
    end if;
    if new.max = 0 or new.warned_since = new.since then
        return new;
    end if;
    new.warned_since := new.since;
    insert into runs_notice (id, team_id, type, subject, agent, thread, tell, data)
    select runs_uuid7(), new.team_id, 'budget.warned', new.id,
           coalesce((select slug from runtimes_agent
                      where id = object and new.scope = 'agent'), ''),
           -- A run or thread that is gone is treated as a private one, of which nobody is told.
           case when new.scope in ('run', 'thread') then coalesce(
               (select thread_id from runs_run where new.scope = 'run' and journal_id = object),
               object, new.id) end,
           '{mail,push,webhook}',
           jsonb_build_object(
               'budget', new.id, 'scope', new.scope, 'of', new.of, 'unit', new.unit,
               'used', new.used, 'max', new.max, 'period', nullif(new.period, ''),
               'since', to_char(new.since at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
    return new;
end $$;

create trigger runs_budget_used before update of used, max on runs_budget for each row
    execute function agui_budget_warns();

-- A run whose budget is spent is refused. A budget that asks refuses while its question is open.
-- The hint has the seconds until the last of the spent budgets begins again; it is empty if one of
-- them never does, or has a max of 0.
create function agui_budget_of_new_run() returns trigger language plpgsql as $$
declare
    spent uuid;
    ends timestamptz;
begin
    if not exists (select from runs_budget where team_id = new.team_id) then
        return null;
    end if;
    select budget.id, case when budget.max > 0 then agui_budget_ends(budget.period) end as until
      into spent, ends
      from runs_budget budget
     cross join lateral (
        select coalesce(sum(case when budget.unit = 'tokens' then waiting.tokens
                                 else waiting.cost end), 0) as amount
          from runs_spent waiting
         where waiting.team_id = new.team_id and budget.key = any (waiting.keys)
           and waiting.at >= greatest(budget.since, agui_budget_begins(budget.period))) uncounted
     where budget.team_id = new.team_id
       and budget.key = any (agui_budget_keys(
            new.team_id, new.agent_id, new.thread_id, new.journal_id, new.starter)
            || agui_budget_of_end_user(new.thread_id, new.end_user))
       and uncounted.amount + case when budget.since < agui_budget_begins(budget.period)
                                   then 0 else budget.used end >= budget.max
       and (budget.at_limit = 'end' or exists (
            select from runs_interrupt question
             where question.team_id = new.team_id and question.status = 'open'
               and question.thread_id <> new.thread_id
                and starts_with(question.interrupt_id, 'budget-' || budget.id::text)))
     order by until desc nulls first, budget.period = 'month' desc, budget.id limit 1;
    if found then
        raise exception 'a budget is spent' using errcode = 'AG010', detail = spent::text,
            hint = coalesce(ceil(extract(epoch from ends - clock_timestamp()))::text, '');
    end if;
    return null;
end $$;

create trigger runs_budget_run_made after insert on runs_run for each row
    when (new.ended_at is null) execute function agui_budget_of_new_run();
