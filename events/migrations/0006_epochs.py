from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

# The epoch of the database's history is the newest row of events_epoch. A promoted standby is on
# another timeline; a restored backup is not, so ``migrate --restored`` makes a row. A number is at
# least the time in seconds, so that what was lost cannot have had it.
FUNCTIONS = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The number of the database's epoch: begins a new one if the timeline has changed.
create function agui_epoch() returns bigint
    language plpgsql volatile security definer set search_path from current as $$
declare
    newest events_epoch;
    line bigint;
begin
    select * into newest from events_epoch order by number desc limit 1;
    if not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' then
        begin
            line := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
        exception when others then
            line := newest.timeline;  -- this server does not say it
        end;
        if newest.timeline is distinct from line then
            perform pg_advisory_xact_lock(hashtextextended('agui.epoch', 0));
            select * into newest from events_epoch order by number desc limit 1;
            if newest.timeline is distinct from line then
                newest.number := agui_begin_epoch(line);
            end if;
        end if;
    end if;
    return set_config('agui.epoch', coalesce(newest.number, 1)::text, false)::bigint;
end $$;

-- Begins an epoch, and returns its number: 1 for the first.
create function agui_begin_epoch(line bigint) returns bigint language sql as $$
    insert into events_epoch (number, timeline, began_at)
    select case when count(*) = 0 then 1
                else greatest(max(number) + 1, extract(epoch from clock_timestamp())::bigint) end,
           line, clock_timestamp()
      from events_epoch
    returning number
$$;

-- Notes in a journal's row from which event on it was written in a new epoch.
create function agui_mark_epoch() returns trigger
    language plpgsql security definer set search_path from current as $$
declare
    now_is bigint := agui_epoch();
begin
    if coalesce(old.marks[cardinality(old.marks)], old.epoch) <> now_is then
        new.marks := coalesce(old.marks, '{}') || array[old.head + 1, now_is];
    end if;
    return new;
end $$;

create trigger agui_mark_epoch before update on events_journal for each row
    when (new.head > old.head and coalesce(old.marks[cardinality(old.marks)], old.epoch)::text
          is distinct from current_setting('agui.epoch', true))
    execute function agui_mark_epoch();
alter table events_journal alter column epoch set default agui_epoch();
revoke execute on function agui_epoch(), agui_begin_epoch(bigint), agui_mark_epoch() from public;
"""
DROP = """
alter table events_journal alter column epoch set default 1;
drop trigger agui_mark_epoch on events_journal;
drop function agui_mark_epoch(), agui_epoch(), agui_begin_epoch(bigint);
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0005_fence_of_one")]
    operations = [
        migrations.CreateModel(
            name="Epoch",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("timeline", models.BigIntegerField(null=True)),
                ("began_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="journal",
            name="epoch",
            field=models.BigIntegerField(db_default=1, editable=False),
        ),
        migrations.AddField(
            model_name="journal",
            name="marks",
            field=ArrayField(models.BigIntegerField(), null=True, editable=False),
        ),
        migrations.RunSQL(FUNCTIONS, DROP),
    ]
