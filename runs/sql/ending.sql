-- The end of a run.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Ends a run, unless it has ended: the first writer wins. Leaves the row by which admission counts
-- what it stored. Whether it has; if it ``must``, it raises otherwise.
create function agui_end_run(
    of_run uuid, new_status text, moment timestamptz, its_result text, its_usage text,
    code text, message text, tools integer, lanes integer, read_tokens bigint,
    written_tokens bigint, cached_tokens bigint, dollars float8, parts jsonb,
    question_count integer, first_piece numeric, last_text text, endable text[], must boolean
) returns boolean language plpgsql as $$
declare
    has_ended boolean;
    counted runs_budgetedrun%rowtype;
begin
    with ended as (
        update runs_run
           set status = new_status, ended_at = moment, due_at = null, result = its_result,
               usage = its_usage,
               error_code = code, error_message = message, tool_calls = tools,
               subagents = lanes, tokens_in = read_tokens, tokens_out = written_tokens,
               tokens_cached = cached_tokens, cost = dollars, by_model = parts,
               questions = question_count, answered = last_text,
               queued_ms = least(2147483647, greatest(0, 1000 * extract(
                   epoch from coalesce(started_at, moment) - created_at))),
               ttft_ms = case when first_piece is not null and started_at is not null then
                   least(2147483647, greatest(0, 1000 * (
                       first_piece - extract(epoch from started_at)))) end
         where journal_id = of_run and status = any (endable) returning journal_id, team_id)
    insert into runs_endedrun (run_id, team_id, bytes)
    select ended.journal_id, ended.team_id, journal.bytes + coalesce((
           select sum(effect.bytes) from runs_effect effect
            where effect.run_id = ended.journal_id), 0)
      from ended join events_journal journal on journal.id = ended.journal_id;
    has_ended := found;
    if must and not has_ended then
        raise exception 'run % has ended', of_run using errcode = 'AG006';
    end if;
    if has_ended and coalesce(read_tokens, written_tokens, dollars) is not null then
        -- Waits at most for this run's own report, never for the budgets of its team.
        select * into counted from runs_budgetedrun where run_id = of_run for no key update;
        insert into runs_spent (team_id, run_id, keys, tokens, cost, at)
        select team_id, of_run,
               agui_budget_keys(team_id, agent_id, thread_id, journal_id, starter)
                   || agui_budget_of_end_user(thread_id, end_user),
               coalesce(read_tokens + written_tokens, read_tokens, written_tokens, 0)
                   - coalesce(counted.tokens, 0),
               coalesce(dollars, 0)::numeric(24, 6) - coalesce(counted.cost, 0),
               clock_timestamp()
          from runs_run run
         where journal_id = of_run
           and exists (select from runs_budget where team_id = run.team_id)
           and (coalesce(read_tokens + written_tokens, read_tokens, written_tokens, 0)
                    <> coalesce(counted.tokens, 0)
                or coalesce(dollars, 0)::numeric(24, 6) <> coalesce(counted.cost, 0));
    end if;
    return has_ended;
end $$;

-- The same by a process of the previous release, which knows no last text: a worker reads it later.
create function agui_end(
    of_run uuid, new_status text, moment timestamptz, its_result text, its_usage text,
    code text, message text, tools integer, lanes integer, read_tokens bigint,
    written_tokens bigint, dollars float8, first_piece numeric, endable text[], must boolean
) returns boolean language sql as $$
    select agui_end_run(
        of_run, new_status, moment, its_result, its_usage, code, message, tools, lanes, read_tokens,
        written_tokens, null, dollars, null, null, first_piece, null, endable, must)
$$;
