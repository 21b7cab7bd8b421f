-- Messages that people send to active runs (docs/howto-steer.md).
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Stores a message, and gives its number; the same message again has the same number. An outcome
-- other than 'stored' or 'known' is the reason why it was not stored.
create function agui_say(
    to_run uuid, name text, words text, author_label text, writer_id text,
    most integer, most_bytes integer, out outcome text, out number integer
) language plpgsql as $$
declare
    run record;
    earlier text;
    unread bigint;
    unread_bytes bigint;
begin
    -- The lock gives the numbers the order of the commits, and the run cannot end before ours.
    select team_id, ended_at, purged_at into run from runs_run
     where journal_id = to_run for no key update;
    if not found then
        outcome := 'gone';
        return;
    end if;
    select seq, content into number, earlier from runs_runmessage
     where run_id = to_run and message_id = name;
    if found then
        outcome := case when earlier = words then 'known' else 'differs' end;
        return;
    end if;
    if run.purged_at is not null then
        outcome := 'purged';
        return;
    end if;
    if run.ended_at is not null then
        outcome := 'ended';
        return;
    end if;
    select count(*), coalesce(sum(octet_length(content)), 0) into unread, unread_bytes
      from runs_runmessage
     where run_id = to_run and seen_seq is null and withdrawn_at is null;
    if unread >= most then
        outcome := 'many';
        return;
    end if;
    if unread_bytes + octet_length(words) > most_bytes then
        outcome := 'long';
        return;
    end if;
    outcome := 'stored';
    insert into runs_runmessage (id, team_id, run_id, seq, message_id, content, author, writer)
    select runs_uuid7(), run.team_id, to_run, coalesce(max(seq), 0) + 1, name, words, author_label,
           writer_id
      from runs_runmessage where run_id = to_run
    returning seq into number;
end $$;
