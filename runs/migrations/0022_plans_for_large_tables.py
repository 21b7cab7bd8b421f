from importlib import import_module

from django.db import migrations

# Row by row, by the primary key: as a join, a plan may walk over all runs that wait, with each
# start. The rest is as it was made (0012_queues).
ADMIT_BEFORE = import_module("runs.migrations.0012_queues").ADMIT
LOOP_BEFORE = ADMIT_BEFORE[
    ADMIT_BEFORE.index("    for waiting in") : ADMIT_BEFORE.index("        job := ")
]
LOOP = """
    for next in select n.run from agui_next_runs(of_team, usual, batch) n loop
        select r.journal_id, r.thread_id, agent.queue as of_agent into waiting
          from runs_run r join runtimes_agent agent on agent.id = r.agent_id
         where r.journal_id = next.run and r.status = 'queued' and r.job_id is null
           for no key update of r skip locked;
        continue when not found;
"""
ADMIT = ADMIT_BEFORE.replace(LOOP_BEFORE, LOOP[1:]).replace(
    "    waiting record;\n", "    next record;\n    waiting record;\n"
)

# A connection keeps the plan of a function's statement for as long as it lives or until the table
# is analyzed. One made while a table is small reads all of it, and goes on to do so as it grows:
# each end of a run then read all runs there were. A bitmap never learns which entries are dead, so
# a sum over a team's ended runs read all that were summed up since the last vacuum.
FUNCTIONS = (
    "agui_start", "agui_place", "agui_admit", "agui_check", "agui_has_next", "agui_fetch",
    "agui_claim", "agui_fence", "agui_append", "agui_end", "agui_teams_with_next", "agui_settle",
    "agui_admit_at_once", "runs_feed_of_run", "runs_webhook_event", "runs_webhook_of_run",
    "runs_webhook_of_new_run", "runs_wake_next_job_of_lock",
)  # fmt: skip
KINDS = ("seqscan", "bitmapscan", "hashjoin", "mergejoin")
ALTER = "".join(
    f"alter function {name} {' '.join(f'{{verb}} enable_{kind}{{off}}' for kind in KINDS)};\n"
    for name in FUNCTIONS
)


class Migration(migrations.Migration):
    dependencies = [("runs", "0021_starts_at_once"), ("events", "0005_fence_of_one")]
    operations = [
        migrations.RunSQL(ADMIT, ADMIT_BEFORE),
        migrations.RunSQL(
            ALTER.format(verb="set", off=" = off"), ALTER.format(verb="reset", off="")
        ),
    ]
