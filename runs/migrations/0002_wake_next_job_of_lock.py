from django.db import migrations

# Procrastinate wakes nobody when a job ends, so the next run of a thread waited for the poll
# (4-5 s). This tells its workers to look: 5-10 ms.
CREATE = """
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
DROP = """
drop trigger runs_job_ended on procrastinate_jobs;
drop trigger runs_job_deleted on procrastinate_jobs;
drop function runs_wake_next_job_of_lock();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0001_initial"),
        ("procrastinate", "0041_post_retry_failed_job"),
    ]
    operations = [migrations.RunSQL(CREATE, DROP)]
