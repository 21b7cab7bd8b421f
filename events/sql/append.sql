-- Appending events. As functions, because their plans stay cached in each connection: planning
-- these statements takes longer than executing them.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Advances the heads of those journals whose generation is still the writer's; returns their ids.
create function agui_fence(
    ids uuid[], generations integer[], firsts integer[], lasts integer[], sizes bigint[],
    finals boolean[]
) returns setof uuid language plpgsql as $$
begin
    if cardinality(ids) = 1 then
        return query
            update events_journal j
               set head = lasts[1], bytes = j.bytes + sizes[1],
                   closed_at = case when finals[1] then now() end
             where j.id = ids[1] and j.writer = generations[1] and j.head = firsts[1] - 1
               and j.closed_at is null
            returning j.id;
        return;
    end if;
    return query
        update events_journal j
           set head = v.last, bytes = j.bytes + v.size,
               closed_at = case when v.final then now() end
          from unnest(ids, generations, firsts, lasts, sizes, finals)
               as v(id, generation, first, last, size, final)
         where j.id = v.id and j.writer = v.generation and j.head = v.first - 1
           and j.closed_at is null
        returning j.id;
end $$;

-- Fences these journals and appends their events, each of the journal with that number in ``ids``:
-- for a message that is a transaction by itself, so it stores all of it or raises.
create function agui_append(
    ids uuid[], generations integer[], firsts integer[], lasts integer[], sizes bigint[],
    finals boolean[], numbers integer[], seqs integer[], moments float8[], types text[],
    payloads text[]
) returns void language plpgsql as $$
declare
    fenced bigint;
begin
    select count(*) into fenced
      from agui_fence(ids, generations, firsts, lasts, sizes, finals);
    if fenced < cardinality(ids) then
        raise exception 'another writer has some of these journals' using errcode = 'AG005';
    end if;
    insert into events_event (journal_id, seq, at, type, payload)
    select ids[event.number], event.seq, to_timestamp(event.moment), event.type, event.payload
      from unnest(numbers, seqs, moments, types, payloads)
           as event(number, seq, moment, type, payload);
end $$;
