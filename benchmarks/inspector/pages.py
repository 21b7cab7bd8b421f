"""The team's pages, whole, as a browser asks for them: a team of RUNS runs (a million) of 90 days.

200 agents, one of them with 10,000 versions, 500 people, 500 issues, CALLS tool calls (a million),
budgets and alerts; as the application's role, so that PostgreSQL's policies apply. The promise:
200 ms at the 95th percentile. tests/dashboard hold the number of queries.
"""

import importlib
import os
import re
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.inspector.filling import in_bulk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "900"  # to fill in the rows takes longer than a request may

CALLS = int(os.environ.get("CALLS", "1000000"))
ISSUES, BUDGETS, ALERTS = 500, 200, 50
TIMES = int(os.environ.get("TIMES", "20"))
ONLY = os.environ.get("ONLY", "/")
"""How the measured addresses begin, such as ``/api/v1/``."""
PROMISE, LISTS = 0.200, 0.100
"""Of a page, and of a list of the API."""
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
# Of 60 tools, of which each agent has six.
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
       'tool-' || ((hashtext(agent_id::text) & 1023) + (n + call) %% 6) %% 60,
       md5(n || '.' || call), case when n %% 20 = 0 then 'error' else 'ok' end,
       case when n %% 500 = 0 then 'ok' else '' end, ended_at, n %% 5000, '{}'
  from numbered, times, generate_series(1, times.each) call
 where n <= %(calls)s
"""
DAYS = """
insert into runs_toolchange (team_id, day)
select distinct team_id, (at at time zone 'UTC')::date from runs_toolcall where team_id = %(team)s
"""
SMALL = ("/account/", "/docs/", "/login/", "/signup/", "/unsent/")
"""Pages that are the same for every team."""
TABLES = "runs_issue, runs_issuerun, runs_toolcall, runs_toolday, runs_usage, runs_usagetook"


def fill(principal: Any) -> list[str]:
    """Issues, tool calls, budgets and alerts of the team; how many."""
    from django.db import connection

    from agui_host.runtimes.models import Agent
    from runs.access.alerts import manage as alerts
    from runs.access.budgets import manage as budgets
    from runs.lifecycle.usage import rollup
    from runs.models import IssueRun, TeamUsage, ToolCall

    if ToolCall.objects.for_team(principal.team).exists():
        return []
    agents = list(Agent.objects.for_team(principal.team).order_by("pk"))
    keys = [agent.pk for agent in agents]
    values = {
        "team": principal.team.pk, "agents": keys, "most": len(keys), "issues": ISSUES,
        "calls": CALLS,
    }  # fmt: skip
    with connection.cursor() as cursor, in_bulk(cursor, ("runs_issuerun", "runs_toolcall")):
        for statement in (MADE, FAILED, CALLED, DAYS):
            cursor.execute(statement, values)
    TeamUsage.objects.get_or_create(team=principal.team)
    rollup.recount(principal.team.pk)
    for agent in agents[:BUDGETS]:
        terms = {"scope": "agent", "of": agent.slug, "cost": 100_000, "period": "month"}
        budgets.create(principal, terms)
    for agent in agents[:ALERTS]:
        terms = {
            "name": f"Failures of {agent.slug}", "measure": "failure_rate", "threshold": 20,
            "window_hours": 24, "least_runs": 10, "agent": agent.slug, "tell": ["mail"],
        }  # fmt: skip
        alerts.create(principal, terms)
    with connection.cursor() as cursor:
        cursor.execute(f"vacuum analyze {TABLES}")
    counts = [model.objects.of_any_team().count() for model in (IssueRun, ToolCall)]
    return [
        f"{counts[0]:,} failed runs, {counts[1]:,} tool calls, {BUDGETS} budgets, {ALERTS} alerts"
    ]


def addresses(issue: Any) -> list[str]:
    """The pages, and the answers of the API."""
    ago = f"{datetime.now(UTC) - timedelta(days=29):%Y-%m-%dT00:00Z}"
    api = f"/api/v1/usage?since={ago}&by="
    return [
        *("/", "/?days=1", "/?days=30"),
        *("/agents/", "/agents/agent-0/", "/agents/agent-1/"),
        *("/issues/", "/issues/?status=resolved", f"/issues/{issue}/"),
        *("/tool-calls/?days=1", "/tool-calls/", "/tool-calls/?days=30"),
        *("/tool-calls/?name=tool-7", "/tool-calls/?doubles=all"),
        *("/usage/?days=30&by=agent", "/usage/?days=30&by=person", "/usage/?days=90&by=day"),
        *("/budgets/", "/alerts/", "/runs/", "/runs/?status=failed"),
        *(f"{api}agent", f"{api}person", f"{api}day", f"{api}agent,day"),
        *("/api/v1/budgets", "/api/v1/alerts", "/api/v1/issues", "/api/v1/tool-calls"),
    ]


def others(client: Any, known: list[str]) -> list[str]:
    """Every other list of the API, and page of the team without an object, that its owner sees."""
    from django.urls import Resolver404, resolve

    from tests.acceptance.browser.pages.every_page import PAGES

    schema = client.get("/api/schema/", headers={"accept": "application/json"}).json()
    lists = [path for path, ways in schema["paths"].items() if "get" in ways]
    pages = [path for path in PAGES.values() if not path.startswith(SMALL)]
    paths = sorted({*lists, *pages} - {address.partition("?")[0] for address in known})
    answers = []
    for path in paths:
        with suppress(Resolver404):  # consumers answer some, such as streams
            if "{" not in path and resolve(path):
                answer = client.get(path)
                if answer.status_code == 200 and not answer.streaming:
                    answers.append(path)
    return answers


def opened(client: Any) -> list[str]:
    """The pages of a run and of its thread, and what the API says about them."""
    thread = client.get("/api/v1/threads?limit=1").json()["results"][0]["id"]
    run = client.get("/api/v1/runs?limit=1").json()["results"][0]["id"]
    return [f"/runs/{run}/", f"/threads/{thread}/", f"/api/v1/runs/{run}"]


def measured(client: Any, address: str, engine: int) -> dict[str, Any]:
    """The figures of one page. The first of its requests compiles templates and does not count.

    The processor's time, ours and that of PostgreSQL, also means something while others use it.
    """
    from benchmarks.report import percentile

    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.content[:500])
    seconds = []
    processor = time.process_time() + processor_of(engine)
    for _ in range(TIMES):
        began = time.perf_counter()
        client.get(address)
        seconds.append(time.perf_counter() - began)
    processor = time.process_time() + processor_of(engine) - processor
    return {
        "page": re.sub(r"[0-9a-f-]{36}", "{id}", re.sub(r"since=[^&]*&", "", address)),
        "p50_ms": round(median(seconds) * 1e3, 1),
        "p95_ms": round(percentile(seconds, 0.95) * 1e3, 1),
        "processor_ms": round(processor / TIMES * 1e3, 1),
        "kib": round(len(answer.content) / 1024),
    }


def verdict(row: dict[str, Any]) -> str:
    """Whether the page kept its promise."""
    promise = LISTS if row["page"].startswith(("/api/", "/agui/")) else PROMISE
    return "kept" if row["p95_ms"] <= promise * 1e3 else "BROKEN"


def processor_of(engine: int) -> float:
    """Seconds of the processor that PostgreSQL, with all its processes, has used."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = stat.read_text().partition(" ")
            fields = rest.rpartition(")")[2].split()
            if int(pid) == engine:
                ticks += sum(map(int, fields[11:15]))  # with those of its children that have ended
            elif int(fields[1]) == engine:
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep
    from benchmarks.row_security import switch

    embedded.ensure()
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from agui_host.backends import interpreter
    from benchmarks.inspector import rollup
    from runs.lifecycle.insight import tool_days
    from runs.models import Issue

    call_command("migrate", verbosity=0)
    settings.ALLOWED_HOSTS = ["testserver"]
    switch(False)
    principal = rollup.fill()
    lines = [f"{rollup.RUNS:,} runs, {rollup.AGENTS} agents, {rollup.PEOPLE} people"]
    lines += fill(principal)
    tool_days.run_once(600)
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze runs_toolday")
        cursor.execute("show data_directory")
        engine = int(Path(cursor.fetchone()[0], "postmaster.pid").read_text().split()[0])
    issue = Issue.objects.of_any_team().values_list("pk", flat=True)[0]
    client = Client(headers={"accept": "text/html,application/json;q=0.9"})
    client.force_login(User.objects.get(pk=principal.user_id))
    switch(True)
    importlib.import_module(settings.ROOT_URLCONF)
    interpreter.settle()  # as a web process does, once all is imported
    paths = [*addresses(issue), *opened(client)]
    paths += others(client, paths)
    rows = []
    for address in (path for path in paths if path.startswith(ONLY)):
        rows.append(measured(client, address, engine))
        print(rows[-1], flush=True)
    lines += [
        f"{row['page']:<32} p50 {row['p50_ms']:>6} ms   p95 {row['p95_ms']:>6} ms"
        f"   processor {row['processor_ms']:>5} ms   {row['kib']:>4} KiB"
        f"   {verdict(row)}"
        for row in rows
    ]
    keep("pages" if ONLY == "/" else "lists", lines, rows)
    switch(False)


if __name__ == "__main__":
    main()
