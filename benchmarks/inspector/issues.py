"""The pages of issues and tool calls of a team with RUNS runs (a million), of which 2 % failed.

500 issues, CALLS tool calls (a million) of 60 tools; as the application's role, so that
PostgreSQL's policies apply. The promise: 200 ms at the 95th percentile for a page.
"""

import gc
import os
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "900"  # to fill in the rows takes longer than a request may

CALLS = int(os.environ.get("CALLS", "1000000"))
ISSUES = 500
TIMES = 20
PROMISE = 0.200
MADE = """
insert into runs_issue (id, team_id, agent_id, fingerprint, error_code, message, resolved_by)
select gen_random_uuid(), %(team)s, (%(agents)s::uuid[])[1 + n %% %(most)s], 'f' || n,
       'agent_error', 'Error of kind ' || n, ''
  from generate_series(0, %(issues)s - 1) n
"""
FAILED = """
with numbered as (
    select journal_id, ended_at, row_number() over (order by journal_id) as n
      from runs_run where team_id = %(team)s and status = 'failed'
), kinds as (
    select id, row_number() over (order by id) - 1 as n from runs_issue where team_id = %(team)s
)
insert into runs_issuerun (run_id, team_id, issue_id, owner, at)
select journal_id, %(team)s, kinds.id, '', ended_at
  from numbered join kinds on kinds.n = numbered.n %% %(issues)s
"""
CALLED = """
with numbered as (
    select journal_id, agent_id, ended_at, row_number() over (order by journal_id desc) as n
      from runs_run where team_id = %(team)s
), times as (
    select greatest(1, %(calls)s / (select count(*) from numbered))::int as each
)
insert into runs_toolcall (
    team_id, run_id, agent_id, owner, root, seq, call, name, digest, status, double, at, took_ms,
    result)
select %(team)s, journal_id, agent_id, '', journal_id, call, 'c' || call,
       'tool-' || (n + call) %% 60, md5(n || '.' || call),
       case when n %% 20 = 0 then 'error' else 'ok' end,
       case when n %% 500 = 0 then 'ok' else '' end, ended_at, n %% 5000, '{}'
  from numbered, times, generate_series(1, times.each) call
 where n <= %(calls)s
"""


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep, percentile
    from benchmarks.row_security import switch

    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from agui_host.backends.postgres import clock, scope
    from agui_host.runtimes.models import Agent
    from benchmarks.inspector.overview import RUNS, fill
    from runs.access.insight import calls, issues
    from runs.models import IssueRun, ToolCall

    call_command("migrate", verbosity=0)
    switch(False)
    principal = fill()
    agents = list(Agent.objects.for_team(principal.team).values_list("pk", flat=True))
    values = {
        "team": principal.team.pk, "agents": agents, "most": len(agents), "issues": ISSUES,
        "calls": CALLS,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for statement in (MADE, FAILED, CALLED):
            cursor.execute(statement, values)
        cursor.execute("vacuum analyze runs_issue, runs_issuerun, runs_toolcall")
    counts = [model.objects.of_any_team().count() for model in (IssueRun, ToolCall)]
    lines = [f"{RUNS:,} runs, {counts[0]:,} failed, {counts[1]:,} tool calls"]
    switch(True)
    gc.freeze()

    def listed(state: str) -> Any:
        rows = list(issues.listed(principal, state).order_by("-last_seen", "pk")[:51])
        return issues.days(principal, rows)

    key = issues.listed(principal).values_list("pk", flat=True)[0]

    def one() -> Any:
        row = issues.find(principal, key)
        return list(issues.runs(principal, row)[:20]), issues.days(principal, [row])

    def doubles() -> Any:
        rows = list(calls.doubles(principal, calls.visible(principal)).order_by("-at", "-pk")[:51])
        return calls.earlier(principal, rows)

    def newest() -> Any:
        rows = calls.visible(principal).filter(name="tool-7")
        return list(rows.order_by("-at", "-pk")[:51])

    since = {days: clock.now() - timedelta(days=days) for days in (1, 7, 30)}
    pages: dict[str, Callable[[], Any]] = {
        **{f"{state} issues": (lambda state=state: listed(state)) for state in issues.STATES},
        "an issue": one,
        **{
            f"tools, {days} days": (lambda at=at: calls.by_tool(principal, at))
            for days, at in since.items()
        },
        "a tool's calls": newest,
        "calls made twice": doubles,
    }
    with scope.limited(principal.team.pk):
        for name, make in pages.items():
            seconds, queries = [], set()
            for _ in range(TIMES):
                began = time.perf_counter()
                with CaptureQueriesContext(connection) as captured:
                    make()
                seconds.append(time.perf_counter() - began)
                queries.add(len(captured))
            late = percentile(seconds, 0.95)
            verdict = "kept" if late <= PROMISE else "BROKEN"
            lines.append(
                f"{name:24} p50 {median(seconds) * 1e3:>7.1f} ms   p95 {late * 1e3:>7.1f} ms"
                f"   {max(queries)} queries   {verdict}"
            )
    keep("issues", lines)
    switch(False)


if __name__ == "__main__":
    main()
