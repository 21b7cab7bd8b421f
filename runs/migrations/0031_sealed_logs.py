from django.db import migrations

# A sealed log reads as one row with the number 0, in the snapshot of the caller's statement: then
# the caller reads the log's object (events/sealed/reading.py). Its rows may be half deleted.
READ = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create or replace function agui_events(
    journal uuid, after integer, upto integer, types text[] default null
) returns table (seq integer, type text, payload text)
    language plpgsql stable rows 500 security definer set search_path from current as $$
begin
    if not agui_sees(journal) then
        return;
    end if;
    if exists (select from events_sealedpart p where p.journal_id = journal) then
        return query select 0, ''::text, ''::text;
        return;
    end if;
    return query
        select e.seq, e.type, e.payload from events_event e
         where e.journal_id = journal and e.seq > after and e.seq <= upto
           and (types is null or e.type = any (types))
         order by e.seq;
end $$;
"""
READ_BEFORE = """
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create or replace function agui_events(
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
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0030_feed_epochs"),
        ("events", "0008_sealed_logs"),
    ]
    operations = [migrations.RunSQL(READ, READ_BEFORE)]
