-- Reading events. The events table has no policy, because COPY refuses a table with one, and the
-- application's role cannot read it: it calls these (docs/adr/0004-row-level-security.md).

-- Whether the scope reaches the run of this journal.
create function agui_sees(journal uuid) returns boolean
    language sql stable security definer as $$
    select agui_reaches(null)
        or exists (select from runs_run where journal_id = journal and agui_reaches(team_id))
$$;

-- A range of a run's events, if the scope reaches the run. A sealed log returns one row with the
-- number 0, in the snapshot of the caller's statement: then the caller reads the log's object
-- (events/sealed/reading.py), since the log's rows may be half deleted.
create function agui_events(
    journal uuid, after integer, upto integer, types text[] default null
) returns table (seq integer, type text, payload text)
    language plpgsql stable rows 500 security definer as $$
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
