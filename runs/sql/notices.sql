-- Notices about budgets and alerts: a delivery for each webhook that wants them.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- A webhook for some agents gets notices about these agents only, and none gets notices about a
-- private thread whose owner has not made the webhook.
create function agui_notice_deliveries() returns trigger language plpgsql as $$
begin
    insert into runs_webhookdelivery (id, team_id, webhook_id, type, notice, attempts)
    select runs_uuid7(), new.team_id, hook.id, new.type, new.id, '[]'
      from runs_webhook hook
     where hook.team_id = new.team_id and hook.task is null and hook.enabled
       and new.type = any (hook.events)
       and (hook.agents is null or new.agent = any (hook.agents))
       and (new.thread is null or exists (
            select from runs_thread thread
             where thread.id = new.thread
               and (thread.visibility = 'team' or thread.creator = hook.creator)));
    return null;
end $$;

create trigger runs_notice_made after insert on runs_notice for each row
    when ('webhook' = any (new.tell)) execute function agui_notice_deliveries();
