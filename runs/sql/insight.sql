-- Tool calls and issues: which runs have still to be read, and whose private threads they are in.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Leaves the row by which a worker reads an ended run, unless it succeeded without a tool call.
create function runs_unread() returns trigger language plpgsql as $$
begin
    insert into runs_unreadrun (run_id, team_id) values (new.journal_id, new.team_id)
        on conflict do nothing;
    return null;
end $$;

create trigger runs_unread_made after insert on runs_run for each row
    when (new.ended_at is not null
        and (new.status = 'failed' or new.tool_calls is distinct from 0))
    execute function runs_unread();

create trigger runs_unread_ended after update on runs_run for each row
    when (new.ended_at is not null and old.ended_at is null
        and (new.status = 'failed' or new.tool_calls is distinct from 0))
    execute function runs_unread();

-- A thread that becomes private, open to the team, or another person's: its rows change the owner.
create function runs_insight_of_thread() returns trigger language plpgsql as $$
declare
    present text := case new.visibility when 'private' then new.creator else '' end;
begin
    -- Shared with the worker that stores rows: it sees this change, or we see its rows.
    perform pg_advisory_xact_lock(hashtextextended('agui.insight.' || new.team_id::text, 0));
    update runs_toolcall call set owner = present
      from runs_run run
     where run.thread_id = new.id and call.run_id = run.journal_id and call.owner <> present;
    update runs_issuerun failed set owner = present
      from runs_run run
     where run.thread_id = new.id and failed.run_id = run.journal_id and failed.owner <> present;
    return null;
end $$;

create trigger runs_insight_thread_changed after update on runs_thread for each row
    when ((old.visibility, old.creator) is distinct from (new.visibility, new.creator))
    execute function runs_insight_of_thread();

-- Marks the calls of these requests that repeat another one: by the outcome of the calls before,
-- of which success counts most.
create function agui_mark_doubles(roots uuid[]) returns void language plpgsql as $$
begin
    update runs_toolcall marked set double = found.double
      from (select id, double as present, case
                   when bool_or(status = 'ok') over earlier then 'ok'
                   when bool_or(status = 'none') over earlier then 'none'
                   when bool_or(true) over earlier then 'error'
                   else '' end as double
              from runs_toolcall where root = any (roots)
            window earlier as (partition by root, name, digest order by run_id, seq, id
                               rows between unbounded preceding and 1 preceding)) found
     where marked.id = found.id and found.present <> found.double;
end $$;

-- Marks the days whose figures of tool calls have to be counted again.
create function runs_tool_calls_changed() returns trigger language plpgsql as $$
begin
    insert into runs_toolchange (team_id, day)
        select distinct team_id, (at at time zone 'UTC')::date from changed;
    return null;
end $$;

create trigger runs_tool_calls_made after insert on runs_toolcall
    referencing new table as changed for each statement execute function runs_tool_calls_changed();

create trigger runs_tool_calls_updated after update on runs_toolcall
    referencing new table as changed for each statement execute function runs_tool_calls_changed();

create trigger runs_tool_calls_erased after delete on runs_toolcall
    referencing old table as changed for each statement execute function runs_tool_calls_changed();
