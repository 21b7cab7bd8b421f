-- The audit log can only grow.

-- Refuses to change or delete a line. Only the erasure of a whole team, which sets its id, deletes
-- lines (agui_host/teams/audit.py).
create function teams_audit_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and old.team_id::text = current_setting('agui.erasing_team', true) then
        return old;
    end if;
    raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end $$;

create trigger teams_audit_append_only before update or delete on teams_auditentry
    for each row execute function teams_audit_append_only();
