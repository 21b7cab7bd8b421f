"""The figures of a team with RUNS runs (a million) on its pages, and the rollup's cost.

200 agents, one of them with 10,000 versions, and 500 people, 90 days; as the application's role, so
that PostgreSQL's policies apply.
The promises: 200 ms at the 95th percentile for a page, and at most 2 % of a start.
"""

import gc
import os
import time
from statistics import median
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "900"  # to fill in the rows takes longer than a request may

RUNS = int(os.environ.get("RUNS", "1000000"))
AGENTS, PEOPLE, DAYS = 200, 500, 90
TIMES = 20
PROMISE = 0.200
BLOCKS, BLOCK = 16, 100
SPREAD = """
update runs_run
   set agent_id = (%(agents)s::uuid[])[1 + (hashtext(run_id) & 2147483647) %% %(most)s],
       started_by = 'user:' || (hashtext('p' || run_id) & 2147483647) %% %(people)s,
       tokens_in = hashtext(run_id) & 65535, tokens_out = 200, cost = 0.01,
       agent_version = lpad(to_hex(hashtext('v' || run_id) & 15), 12, '0')
 where team_id = %(team)s
"""
VERSIONS = 10_000
TRIGGER = "alter table runs_run {} trigger runs_usage_run_changed"


def fill() -> Any:
    """The team of ``find_runs`` with more agents and people; its owner, as a Principal."""
    from django.contrib.auth.models import User
    from django.db import connection

    from agui_host.backends.postgres import clock
    from agui_host.runtimes import create_team
    from agui_host.runtimes.models import Agent, AgentVersion
    from agui_host.teams.authentication import Principal
    from agui_host.teams.models import Membership, Role
    from benchmarks.inspector.find_runs import FILL, THREADS

    team = create_team.create_team("overview", "Overview")
    rows = [Agent(team=team, slug=f"agent-{n}", name=f"Agent {n}") for n in range(AGENTS)]
    agents = [agent.pk for agent in Agent.objects.bulk_create(rows)]
    AgentVersion.objects.bulk_create(
        AgentVersion(
            team=team, agent=rows[0], version=f"{VERSIONS - n:012x}", first_seen_at=clock.now()
        )
        for n in range(VERSIONS)
    )
    user = User.objects.create_user("leader")
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    values = {
        "runs": RUNS, "days": DAYS, "team": team.pk, "agent": agents[0], "rare_agent": agents[1],
        "agents": agents, "most": AGENTS, "people": PEOPLE,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("alter table runs_run disable trigger user")
        for statement in (THREADS, FILL, SPREAD):
            cursor.execute(statement, values)
        cursor.execute("alter table runs_run enable trigger user")
        cursor.execute("vacuum analyze runs_run, events_journal, runs_thread")
    return Principal("user", "leader", team, Role.OWNER, user.pk)


def cost_of_a_start(principal: Any) -> list[str]:
    """Whole runs, by the database's functions, with and without the trigger, in turns."""
    from django.db import connection

    from agui_host.protocol.input import run_agent_input
    from agui_host.runtimes.models import Agent
    from runs.lifecycle import lifecycle

    agent = Agent.objects.get(team=principal.team, slug="agent-0")
    finished = {
        "type": "RUN_FINISHED", "threadId": "t", "runId": "r",
        "usage": [{"model": "gpt-5", "inputTokens": 900, "outputTokens": 90, "cost": 0.01}],
    }  # fmt: skip
    whole: list[float] = []
    ends: dict[str, list[float]] = {"disable": [], "enable": []}
    for block in range(BLOCKS):
        state = ("disable", "enable")[block % 2]
        with connection.cursor() as cursor:
            cursor.execute(TRIGGER.format(state))
        for _ in range(BLOCK):
            request = run_agent_input.parse({})
            began = time.perf_counter()
            run = lifecycle.start(principal.team, agent, request, started_by=principal).run
            lifecycle.claim(run.pk)
            end = time.perf_counter()
            lifecycle.finish(run.pk, finished)
            ends[state].append(time.perf_counter() - end)
            whole.append(time.perf_counter() - began)
    without, with_it = (median(ends[state]) for state in ("disable", "enable"))
    return [
        f"the end of a run: {without * 1e3:.2f} ms without the trigger, {with_it * 1e3:.2f} ms"
        f" with it: {100 * (with_it - without) / median(whole):+.1f} % of"
        f" {median(whole) * 1e3:.2f} ms for its start, claim and end"
    ]


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

    from agui_host.backends.postgres import scope
    from agui_host.dashboard.agents import figures
    from agui_host.dashboard.overview import overview, usage
    from agui_host.runtimes.models import Agent
    from runs.lifecycle.usage import rollup
    from runs.models import TeamUsage, Usage

    call_command("migrate", verbosity=0)
    switch(False)
    principal = fill()
    TeamUsage.objects.get_or_create(team=principal.team)
    began = time.perf_counter()
    rollup.recount(principal.team.pk)
    lines = [f"{RUNS:,} runs", f"recount {time.perf_counter() - began:.1f} s"]
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze runs_usage, runs_usagetook")
    lines.append(f"{Usage.objects.count():,} rows of usage")
    lines += cost_of_a_start(principal)
    began = time.perf_counter()
    folded = rollup.run_once(600)
    lines.append(f"adding up {folded:,} changes {time.perf_counter() - began:.2f} s")
    switch(True)
    gc.freeze()
    pages = {f"overview, {days} days": (overview.of, days) for days in overview.PERIODS}
    ways = {f"usage by {way}": way for way in usage.WAYS}
    agent = Agent.objects.get(team=principal.team, slug="agent-0")
    agents = {
        "list of agents": lambda: figures.listing(principal),
        "an agent": lambda: [
            part(principal, agent)
            for part in (figures.of, figures.versions_of, figures.newest_runs)
        ],
    }
    with scope.limited(principal.team.pk):
        for name, make in {
            **{
                name: (lambda of=of, days=days: of(principal, days))
                for name, (of, days) in pages.items()
            },
            **{name: (lambda way=way: usage.of(principal, way, 30)) for name, way in ways.items()},
            **agents,
        }.items():
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
    keep("overview", lines)
    switch(False)


if __name__ == "__main__":
    main()
