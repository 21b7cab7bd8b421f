from django.db import migrations

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
        migrations.RunSQL(
            ALTER.format(verb="set", off=" = off"), ALTER.format(verb="reset", off="")
        )
    ]
