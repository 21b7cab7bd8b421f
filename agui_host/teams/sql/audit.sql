-- The audit log can only grow.

-- Refuses to change or delete a line. Only the erasure of a whole team, which sets its id, deletes
-- lines (agui_host/teams/audit.py), and only agui_forget_person, which names the person, changes any.
create function teams_audit_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and old.team_id::text = current_setting('agui.erasing_team', true) then
        return old;
    end if;
    if tg_op = 'UPDATE' and current_setting('agui.forgetting', true) = 'yes'
       and (new.id, new.team_id, new.at, new.actor, new.action)
           = (old.id, old.team_id, old.at, old.actor, old.action) then
        return new;
    end if;
    raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end $$;

create trigger teams_audit_append_only before update or delete on teams_auditentry
    for each row execute function teams_audit_append_only();

-- Puts a pseudonym in place of a person's label in the log, and of their names (login, label and
-- mail addresses, in lower case) where a line is about them; also forgets the addresses that they
-- came from. The id of the actor stays: it names no one.
create function agui_forget_person(erased text, label text, pseudonym text, names text[])
    returns void language plpgsql security definer as $$
begin
    perform agui_require_scope(null);
    perform set_config('agui.forgetting', 'yes', true);
    update teams_auditentry set who = pseudonym, address = '' where actor = erased or who = label;
    update teams_auditentry set target = pseudonym
     where target = substr(label, 6)
       and split_part(action, '.', 1) = any (
           '{account,factor,member,person,push,question_mail,scim_user,session}');
    update teams_auditentry
       set details = (select json_object_agg(
                          key, case when lower(value #>> '{}') = any (names)
                                    then to_json(pseudonym) else value end)
                        from json_each(details::json))
     where action = any ('{email.added,email.changed,email.removed,email.verified,
                           invitation.sent,key.handed_over,thread.handed_over}')
       and exists (select from json_each_text(details::json) where lower(value) = any (names));
    perform set_config('agui.forgetting', '', true);
end $$;
