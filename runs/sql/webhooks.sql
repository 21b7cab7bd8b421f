-- A delivery for each webhook and event, in the transaction of the change (runs/models/webhook.py).
-- Most teams have no webhook; then this costs two look-ups in an index.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- A UUIDv7 from the database's clock.
-- planner: as usual
create function runs_uuid7() returns uuid language sql volatile as $$
    select encode(set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid()) placing substring(int8send(
            (extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
$$;

-- Adds a delivery for each of the team's webhooks that wants this event, including those of the
-- thread's tasks. The event can be about a question or a comment of the run.
create function runs_webhook_event_about(
    of_team uuid, of_type text, of_run uuid, of_interrupt uuid, of_comment uuid)
    returns void language plpgsql as $$
declare
    of_thread uuid := (select thread_id from runs_run where journal_id = of_run);
begin
    if not exists (select from runs_webhook where team_id = of_team and task is null and enabled)
        and not exists (select from runs_webhook where thread_id = of_thread and enabled)
    then
        return;
    end if;
    insert into runs_webhookdelivery
        (id, team_id, webhook_id, type, thread, run, interrupt, comment, attempts)
    select runs_uuid7(), of_team, hook.id, of_type, run.thread_id, of_run, of_interrupt, of_comment,
           '[]'
      from runs_run run
      join runs_thread thread on thread.id = run.thread_id
      join runtimes_agent agent on agent.id = run.agent_id
      cross join lateral (
          select id, creator, events, agents, enabled
            from runs_webhook where team_id = of_team and task is null
          union all
          select id, creator, events, agents, enabled from runs_webhook
           where thread_id = of_thread and team_id = of_team and task <= of_run) hook
     where run.journal_id = of_run and hook.enabled and of_type = any (hook.events)
       and (hook.agents is null or agent.slug = any (hook.agents))
       and (thread.visibility = 'team' or thread.creator = hook.creator);
end $$;

-- The same for an event that is about no comment.
create function runs_webhook_event(of_team uuid, of_type text, of_run uuid, of_interrupt uuid)
    returns void language plpgsql as $$
begin
    perform runs_webhook_event_about(of_team, of_type, of_run, of_interrupt, null);
end $$;

-- A run that is the first in its thread: thread.created. If it is handed to a worker at once, it has
-- also started.
create function runs_webhook_of_new_run() returns trigger language plpgsql as $$
begin
    -- Threads are made with their first run, and a run's row stays as long as its thread.
    if not exists (
        select from runs_run where thread_id = new.thread_id and journal_id <> new.journal_id
    ) then
        perform runs_webhook_event(new.team_id, 'thread.created', new.journal_id, null);
    end if;
    if new.status = 'running' then
        perform runs_webhook_event(new.team_id, 'run.started', new.journal_id, null);
    end if;
    return null;
end $$;

create trigger runs_webhook_run_made after insert on runs_run for each row
    execute function runs_webhook_of_new_run();

-- A run that changes its status: run.started, run.succeeded and so on.
create function runs_webhook_of_run() returns trigger language plpgsql as $$
begin
    perform runs_webhook_event(
        new.team_id,
        case new.status when 'running' then 'run.started' else 'run.' || new.status end,
        new.journal_id, null);
    return null;
end $$;

create trigger runs_webhook_run_moved after update of status on runs_run for each row
    when (old.status <> new.status) execute function runs_webhook_of_run();

-- An interrupt that is opened, answered or expired.
-- planner: as usual
create function runs_webhook_of_interrupt() returns trigger language plpgsql as $$
begin
    perform runs_webhook_event(
        new.team_id,
        case new.status when 'open' then 'interrupt.opened'
            when 'expired' then 'interrupt.expired' else 'interrupt.answered' end,
        new.run_id, new.id);
    return null;
end $$;

create trigger runs_webhook_interrupt_made after insert on runs_interrupt for each row
    execute function runs_webhook_of_interrupt();

create trigger runs_webhook_interrupt_moved after update of status on runs_interrupt for each row
    when (old.status <> new.status) execute function runs_webhook_of_interrupt();

-- A comment that mentions members: mention.created, once however many it names.
-- planner: as usual
create function runs_webhook_of_mentions() returns trigger language plpgsql as $$
begin
    perform runs_webhook_event_about(
                comment.team_id, 'mention.created', comment.run_id, null, comment.id)
       from runs_comment comment
      where comment.id in (select comment_id from made);
    return null;
end $$;

create trigger runs_webhook_mentions_made after insert on runs_mention
    referencing new table as made for each statement
    execute function runs_webhook_of_mentions();
