-- Full-text search, newest matches first.

-- The newest matches of a query, backwards from one moment until there are enough. Each run has the
-- lexemes of its stretches of time (runs/lifecycle/words/stretches.py), so the index finds a
-- stretch's matches without reading others. After a stretch with few matches the next stretch is
-- four times as long, after one with many it is shorter: so frequent, rare and old words cost the
-- same. The planner knows neither which words occur together nor when, so it can use only the
-- index. There, two conditions with the stretch first are cheaper than one: the scan of the words
-- jumps to the stretch, and ends when they have no run as new as it.
create function agui_matches(
    prefix text, query tsquery, below uuid, enough integer, top integer,
    out runs uuid[], out complete boolean
) language plpgsql stable set enable_seqscan = off set enable_indexscan = off as $$
declare
    oldest constant bigint := extract(epoch from timestamptz '2020-01-01 00:00Z') / 60;
    -- The minute behind the next stretch.
    behind bigint := ('x' || left(replace(below::text, '-', ''), 12))::bit(48)::bigint / 60000 + 1;
    level integer := 0;
    shorter boolean := false;
    stretch bigint;
    batch uuid[];
begin
    runs := array[]::uuid[];
    complete := true;
    while behind > oldest loop
        stretch := (behind - 1) >> (2 * level);
        batch := array(
            select run_id from runs_wordsreached
             where words @@ format('%L', prefix || '#' || level || '.' || stretch)::tsquery
               and words @@ query
               and run_id < below
             limit case when level > 0 then 2 * enough end);
        if level > 0 and cardinality(batch) = 2 * enough then
            -- To find that costs what the stretch is long, so the next one is a sixteenth of it.
            level := greatest(level - 2, 0);
            shorter := true;
            continue;
        end if;
        runs := runs || batch;
        behind := stretch << (2 * level);
        if cardinality(runs) >= enough then
            complete := false;
            return;
        end if;
        while not shorter and level < top and behind % (4::bigint << (2 * level)) = 0 loop
            level := level + 1;
        end loop;
    end loop;
end
$$;
