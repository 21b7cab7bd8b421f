from importlib import import_module

from django.db import migrations

# Most commits of a quiet worker are of one journal: as one row they cost a fifth of a join with
# arrays of one. The rest is as it was made (0004_appending).
FENCE = """
create or replace function agui_fence(
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
"""
BEFORE = import_module("events.migrations.0004_appending").APPEND
FENCE_BEFORE = BEFORE[
    BEFORE.index("create function agui_fence") : BEFORE.index("-- Fences these journals")
].replace("create function", "create or replace function")


class Migration(migrations.Migration):
    dependencies = [("events", "0004_appending")]
    operations = [migrations.RunSQL(FENCE, FENCE_BEFORE)]
