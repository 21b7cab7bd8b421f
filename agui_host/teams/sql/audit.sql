-- The audit log can only grow.

-- Refuses to change or delete a line. Only the erasure of a whole team, which sets its id, deletes
-- lines (agui_host/teams/audit.py), and only agui_forget_person, which names the person, changes any.
create function teams_audit_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and old.team_id::text = current_setting('agui.erasing_team', true) then
        return old;
    end if;
    if tg_op = 'UPDATE' and current_setting('agui.forgetting', true) = 'yes'
       and (new.id, new.team_id, new.at, new.actor, new.action, new.details)
           = (old.id, old.team_id, old.at, old.actor, old.action, old.details) then
        return new;
    end if;
    raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end $$;

create trigger teams_audit_append_only before update or delete on teams_auditentry
    for each row execute function teams_audit_append_only();

-- Puts a pseudonym in place of a person's label in the log, and of their login where a line is about
-- them; also forgets the addresses that they came from. The id of the actor stays: it names no one.
create function agui_forget_person(erased text, label text, pseudonym text) returns void
    language plpgsql security definer as $$
begin
    perform set_config('agui.forgetting', 'yes', true);
    update teams_auditentry set who = pseudonym, address = '' where actor = erased or who = label;
    update teams_auditentry set target = pseudonym
     where target = substr(label, 6)
       and (action like 'member.%' or action like 'session.%' or action like 'scim_user.%'
            or action in ('account.closed', 'push.turned_on', 'push.turned_off',
                          'question_mail.turned_on', 'question_mail.turned_off'));
    perform set_config('agui.forgetting', '', true);
end $$;
