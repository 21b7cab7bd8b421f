"""Finding runs: each filter of the runs list, for a team that has RUNS runs (a million).

As the application's role, so that PostgreSQL's policies apply. The promise: 150 ms at the 95th
percentile for any single filter, on the first page and on one that is far back.
"""

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "600"  # to fill in the rows takes longer than a request may

RUNS = int(os.environ.get("RUNS", "1000000"))
TIMES = 20
PROMISE = 0.150
DAYS = 365
FILL = """
with made as (
    select n, now() - (%(days)s * interval '1 day') * (1 - n::float / %(runs)s) as at
      from generate_series(1, %(runs)s) n
), named as (
    select n, at, (
        lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(n %% 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid as id
      from made
), journals as (
    insert into events_journal (id, head, writer, bytes, closed_at)
    select id, 10, 1, 1000, at from named
)
insert into runs_run (
    journal_id, team_id, thread_id, agent_id, run_id, attempt, tries, status, input,
    request_digest, started_by, starter, created_at, started_at, ended_at, error_code,
    error_message)
select id, %(team)s, %(thread)s, %(agent)s, 'run-' || n, 1, 1,
       case when n %% 50 = 0 then 'failed' else 'succeeded' end, '{}', 'x', 'user:' || n %% 10,
       '', at, at, at,
       case when n %% 50 > 0 then '' when n %% 50000 = 0 then 'timeout' else 'agent_error' end,
       case when n %% 50 > 0 then '' else 'Stripe says: insufficient funds for order ' || n end
  from named
"""


def fill() -> Any:
    """A team with that many runs of the last year; its owner, as a Principal."""
    from django.contrib.auth.models import User
    from django.db import connection

    from runs.models import Thread
    from runtimes import create_team
    from runtimes.models import Agent
    from teams.authentication import Principal
    from teams.models import Membership, Role

    team = create_team.create_team("finding", "Finding")
    agent = Agent.objects.create(team=team, slug="billing", name="Billing")
    thread = Thread.objects.create(team=team, thread_id="thread")
    user = User.objects.create_user("finder")
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    values = {
        "runs": RUNS, "days": DAYS, "team": team.pk, "thread": thread.pk, "agent": agent.pk,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(FILL, values)
        cursor.execute("vacuum analyze runs_run, events_journal")
    return Principal("user", "finder", team, Role.OWNER, user.pk)


def queries() -> dict[str, str]:
    """Addresses by what they filter for."""
    now = datetime.now(UTC)

    def ago(days: float) -> str:
        return f"{now - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"

    return {
        "nothing": "",
        "since an hour": "since=1h",
        "until a year ago, less a day": f"until={ago(DAYS - 1)}",
        "one day of half a year ago": f"since={ago(180)}&until={ago(179)}",
        "status": "status=failed",
        "status that no run has": "status=cancelled",
        "error": "error=agent_error",
        "rare error": "error=timeout",
        "unknown error": "error=no_such_code",
        "error and an old day": f"error=agent_error&since={ago(300)}&until={ago(299)}",
        "text": 'q="insufficient funds"',
        "text that no run has": "q=unheard",
    }


def main() -> None:
    import django

    from benchmarks.report import keep, percentile
    from benchmarks.row_security import switch
    from embedded import embedded

    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.http import QueryDict

    from backends.postgres import scope
    from dashboard import listing

    call_command("migrate", verbosity=0)
    switch(False)
    principal = fill()
    switch(True)
    lines = []
    with scope.limited(principal.team.pk):
        for name, address in queries().items():
            seconds, rows = [], 0
            for _ in range(TIMES):
                began = time.perf_counter()
                page = listing.page(principal, listing.matching(principal, QueryDict(address)))
                seconds.append(time.perf_counter() - began)
                rows = len(page.runs)
            late = percentile(seconds, 0.95)
            verdict = "kept" if late <= PROMISE else "BROKEN"
            lines.append(f"{name:30} {rows:>3} rows   p95 {late * 1e3:>8.1f} ms   {verdict}")
    keep("find_runs", [f"{RUNS:,} runs", *lines])
    switch(False)


if __name__ == "__main__":
    main()
