-- Texts that are stored in pieces: inputs of runs and folds of threads (docs/adr/0016-pieces.md).
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- A stored text as it was received. A query that calls it is planned as if this stood in it.
-- planner: as usual
create function agui_whole(stored text) returns text language sql stable as $$
    select case when left(stored, 1) = E'\x01' then agui_joined(stored) else stored end
$$;

-- Its size in bytes, of which a text in pieces keeps a note.
-- planner: as usual
create function agui_whole_size(stored text) returns integer language sql stable as $$
    select case when left(stored, 1) = E'\x01' then split_part(stored, E'\x01', 2)::integer
                else octet_length(stored) end
$$;

-- The pieces of a text, joined with what stands between them.
create function agui_joined(stored text) returns text language plpgsql stable as $$
declare
    whole text;
    lost bigint;
begin
    select string_agg(case when n % 2 = 1 then part else body end, '' order by n),
           count(*) filter (where n % 2 = 0 and body is null)
      into whole, lost
      from string_to_table(stored, E'\x01') with ordinality as parts (part, n)
      left join runs_piece piece on piece.id = case when n % 2 = 0 then part::bigint end
     where n > 2;
    if lost > 0 then
        raise exception '% pieces of a text are missing', lost;
    end if;
    return whole;
end $$;

-- The ids of the pieces to which a stored text refers.
-- planner: as usual
create function agui_pieces_of(stored text) returns setof bigint language sql stable as $$
    select part::bigint from string_to_table(stored, E'\x01') with ordinality as parts (part, n)
     where left(stored, 1) = E'\x01' and n > 2 and n % 2 = 0
$$;

-- Deletes the pieces of these threads to which none of their texts refers; how many. It locks the
-- pieces first: a transaction that is about to refer to one has locked it as well, so its text is
-- committed before the look.
create function agui_drop_pieces(threads uuid[]) returns integer language plpgsql as $$
declare
    gone integer;
begin
    perform from runs_piece where thread_id = any (threads) order by id for update;
    if not found then
        return 0;
    end if;
    delete from runs_piece where thread_id = any (threads) and id not in (
        select agui_pieces_of(input) from runs_run where thread_id = any (threads)
        union all
        select agui_pieces_of(fold) from runs_threadhistory where thread_id = any (threads));
    get diagnostics gone = row_count;
    return gone;
end $$;
