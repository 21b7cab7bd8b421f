-- The connection's scope: which teams a statement reaches. Only the first two functions read the
-- setting; all policies, views and other functions call them.

-- Whether the scope reaches all teams. Policies call this in a subselect, which PostgreSQL
-- evaluates once for a statement.
create function agui_reaches_all() returns boolean language sql stable as $$
    select coalesce(current_setting('agui.teams', true) = '*', false)
$$;

-- The teams that the scope lists; null without a scope or if it reaches all.
create function agui_reached() returns uuid[] language sql stable as $$
    select string_to_array(nullif(current_setting('agui.teams', true), '*'), ',')::uuid[]
$$;

-- Whether the scope reaches a team; with null, whether it reaches all. Without a scope, false.
create function agui_reaches(of_team uuid) returns boolean language sql stable as $$
    select coalesce(agui_reaches_all() or of_team = any (agui_reached()), false)
$$;

-- Raises unless the scope reaches the team; with null, unless it reaches all teams.
create function agui_require_scope(of_team uuid) returns void language plpgsql stable as $$
begin
    if not agui_reaches(of_team) then
        raise insufficient_privilege using message = case
            when of_team is null then 'the scope does not reach all teams'
            else 'the scope does not reach this team' end;
    end if;
end $$;
