-- The parts of each version of an agent, so that a trial can run it again.
-- planner: enable_seqscan=off enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off

-- Remembers the values from which a version is a digest: the same version has the same values.
create function runs_terms_of_agent() returns trigger language plpgsql as $$
begin
    insert into runs_agentterms (
        team_id, agent_id, version, kind, target, code, settings, middleware, context_providers)
    values (new.team_id, new.id, new.version, new.kind, new.target, new.code, new.settings,
            new.middleware, new.context_providers)
    on conflict (agent_id, version) do nothing;
    return null;
end $$;

create trigger runs_terms_agent_made after insert on runtimes_agent for each row
    when (new.version <> '') execute function runs_terms_of_agent();

create trigger runs_terms_agent_versioned after update on runtimes_agent for each row
    when (new.version <> '' and new.version is distinct from old.version)
    execute function runs_terms_of_agent();
