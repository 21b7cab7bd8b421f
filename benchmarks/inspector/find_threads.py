"""The list of threads, ``GET /api/v1/threads`` and CopilotKit's, for a team with THREADS threads.

A million by default, each with one run. As the application's role, so that PostgreSQL's policies
apply. The promise: 100 ms at the 95th percentile, on the first page and far back.
"""

import os
import time
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "600"  # to fill in the rows takes longer than a request may

THREADS = int(os.environ.get("THREADS", "1000000"))
TIMES, LIMIT = 20, 50
PROMISE = 0.100
ID = "('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid"
FILL = f"""
with threads as (
    insert into runs_thread (
        id, team_id, thread_id, created_by, visibility, title, tags, newest)
    select {ID}, %(team)s, 'thread-' || n, '', 'team', 'Order ' || n,
           case when n = 7 then array['once'] else '{{}}' end, {ID}
      from generate_series(1, %(threads)s) n
), journals as (
    insert into events_journal (id, head, writer, bytes, closed_at)
    select {ID}, 10, 1, 1000, now() from generate_series(1, %(threads)s) n
)
insert into runs_run (
    journal_id, team_id, thread_id, agent_id, run_id, attempt, tries, status, input,
    request_digest, started_by, starter, created_at, started_at, ended_at, error_code,
    error_message)
select {ID}, %(team)s, {ID}, case when n = 100 then %(rare)s else %(agent)s end,
       'run-' || n, 1, 1, 'succeeded', '{{}}', 'x', 'user:1', '', now(), now(), now(), '', ''
  from generate_series(1, %(threads)s) n
"""  # noqa: S608  an expression of ours


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep, percentile
    from benchmarks.row_security import switch

    embedded.ensure()
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection

    from agui_host.backends.postgres import scope
    from agui_host.runtimes import create_team
    from agui_host.runtimes.models import Agent
    from agui_host.teams.authentication import Principal
    from agui_host.teams.models import Membership, Role
    from runs.access import copilot_threads

    call_command("migrate", verbosity=0)
    switch(False)
    team = create_team.create_team("threads", "Threads")
    agent = Agent.objects.create(team=team, slug="billing", name="Billing")
    rare = Agent.objects.create(team=team, slug="rare", name="Rare")
    user = User.objects.create_user("reader")
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    principal = Principal("user", "reader", team, Role.OWNER, user.pk)
    with connection.cursor() as cursor:
        values = {"team": team.pk, "agent": agent.pk, "rare": rare.pk, "threads": THREADS}
        cursor.execute(FILL, values)
        cursor.execute("vacuum analyze runs_run, events_journal, runs_thread")
    switch(True)
    middle = UUID(f"00000000-0000-7000-8000-{THREADS // 2:012}")
    lines = []
    with scope.limited(team.pk):
        for name, options in {
            "first page": {},
            "far back": {"before": middle},
            "an agent": {"agent": "billing"},
            "an agent that answered one": {"agent": "rare"},
            "a tag of one": {"tag": "once"},
            "archived ones": {"archived": True},
        }.items():
            seconds = []
            for _ in range(TIMES):
                began = time.perf_counter()
                rows = copilot_threads.newest(principal, limit=LIMIT, **options)  # type: ignore[arg-type]
                seconds.append(time.perf_counter() - began)
            late = percentile(seconds, 0.95)
            verdict = "kept" if late <= PROMISE else "BROKEN"
            lines.append(f"{name:30} {len(rows):>3} rows   p95 {late * 1e3:>8.1f} ms   {verdict}")
    keep("find_threads", [f"{THREADS:,} threads", *lines])
    switch(False)


if __name__ == "__main__":
    main()
