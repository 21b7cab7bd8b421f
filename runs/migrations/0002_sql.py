from django.db import migrations

# Procrastinate wakes nobody when a job ends, so the next run of a thread waited for the poll
# (4-5 s). This tells its workers to look: 5-10 ms.
WAKE = """
create function runs_wake_next_job_of_lock() returns trigger language plpgsql as $$
begin
    perform pg_notify(
        'procrastinate_queue_v1#' || old.queue_name,
        json_build_object('type', 'job_inserted', 'job_id', old.id)::text
    );
    return null;
end;
$$;
create trigger runs_job_ended after update of status on procrastinate_jobs for each row
    when (old.status = 'doing' and new.status <> 'doing' and old.lock is not null)
    execute function runs_wake_next_job_of_lock();
create trigger runs_job_deleted after delete on procrastinate_jobs for each row
    when (old.status = 'doing' and old.lock is not null)
    execute function runs_wake_next_job_of_lock();
"""
LET_SLEEP = """
drop trigger runs_job_ended on procrastinate_jobs;
drop trigger runs_job_deleted on procrastinate_jobs;
drop function runs_wake_next_job_of_lock();
"""
# Where the queue stands between teams (runs/lifecycle/admission.py): the stamp of the run that a
# worker took last. A sequence, since every claim moves it and none may wait for another.
VIRTUAL_TIME = "create sequence runs_virtual_time minvalue 0 start 0"
# Events have no team and no policy: COPY refuses a table with one. The application's role may not
# read the table at all; it reads a run's events by this function, which looks once per call whether
# the run is one that the scope reaches (docs/adr/0004-row-level-security.md).
READ = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function agui_sees(journal uuid) returns boolean
    language sql stable security definer set search_path from current as $$
    select current_setting('agui.teams', true) = '*' or exists (
        select 1 from runs_run where journal_id = journal and team_id = any (
            string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]))
$$;

create function agui_events(
    journal uuid, after integer, upto integer, types text[] default null
) returns table (seq integer, type text, payload text)
    language plpgsql stable rows 500 security definer set search_path from current as $$
begin
    if agui_sees(journal) then
        return query
            select e.seq, e.type, e.payload from events_event e
             where e.journal_id = journal and e.seq > after and e.seq <= upto
               and (types is null or e.type = any (types))
             order by e.seq;
    end if;
end $$;

revoke execute on function
    agui_sees(uuid), agui_events(uuid, integer, integer, text[]) from public;
"""
DROP = "drop function agui_events(uuid, integer, integer, text[]), agui_sees(uuid)"


class Migration(migrations.Migration):
    replaces = [("runs", "0002_wake_next_job_of_lock"), ("runs", "0015_events_by_run")]
    dependencies = [
        ("runs", "0001_tables"),
        ("events", "0002_sql"),
        ("procrastinate", "0041_post_retry_failed_job"),
    ]
    operations = [
        migrations.RunSQL(WAKE, LET_SLEEP),
        migrations.RunSQL(VIRTUAL_TIME, "drop sequence runs_virtual_time"),
        migrations.RunSQL(READ, DROP),
    ]
