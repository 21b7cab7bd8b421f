from django.db import migrations

# Only the erasure of a whole team, which names itself, takes lines away (agui_host.teams.audit.erasing).
GUARD = """
create function teams_audit_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and old.team_id::text = current_setting('agui.erasing_team', true) then
        return old;
    end if;
    raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end $$;
create trigger teams_audit_append_only before update or delete on teams_auditentry
    for each row execute function teams_audit_append_only();
"""
UNGUARD = """
drop trigger teams_audit_append_only on teams_auditentry;
drop function teams_audit_append_only;
"""


class Migration(migrations.Migration):
    replaces = [("teams", "0002_audit")]
    dependencies = [("teams", "0001_tables")]
    operations = [migrations.RunSQL(GUARD, UNGUARD)]
