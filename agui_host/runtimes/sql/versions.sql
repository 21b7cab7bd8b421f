-- The versions that an agent has had: a row for each, however the agent was changed.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Remembers a version with the moment in which the agent first had it.
create function runtimes_version_of_agent() returns trigger language plpgsql as $$
begin
    insert into runtimes_agentversion (team_id, agent_id, version, first_seen_at)
    values (new.team_id, new.id, new.version, now())
    on conflict (agent_id, version) do nothing;
    return null;
end $$;

create trigger runtimes_agent_made after insert on runtimes_agent for each row
    when (new.version <> '') execute function runtimes_version_of_agent();

create trigger runtimes_agent_versioned after update on runtimes_agent for each row
    when (new.version <> '' and new.version is distinct from old.version)
    execute function runtimes_version_of_agent();
