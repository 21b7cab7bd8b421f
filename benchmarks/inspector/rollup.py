"""The cost of a team's usage, added up by hour, of RUNS runs (a million) of 90 days.

200 agents, one of them with 10,000 versions, and 500 people. The promise: at most 2 % of a start.
"""

import os
import time
from statistics import median
from typing import Any

from benchmarks.inspector.filling import in_bulk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "900"  # to fill in the rows takes longer than a request may

RUNS = int(os.environ.get("RUNS", "1000000"))
AGENTS, PEOPLE, DAYS = 200, 500, 90
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
    """The team of ``find_runs`` with more agents and people; its owner, as a Principal.

    A data directory in which it is already there is used again.
    """
    from django.contrib.auth.models import User
    from django.db import connection

    from agui_host.backends.postgres import clock
    from agui_host.runtimes import create_team
    from agui_host.runtimes.models import Agent, AgentVersion
    from agui_host.teams.authentication import Principal
    from agui_host.teams.models import Membership, Role, Team
    from benchmarks.inspector.find_runs import FILL, NEWEST, THREADS

    if (user := User.objects.filter(username="leader").first()) is not None:
        team = Team.objects.get(slug="overview")
        return Principal("user", "leader", team, Role.OWNER, user.pk)
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
    with (
        connection.cursor() as cursor,
        in_bulk(cursor, ("runs_run", "events_journal", "runs_thread")),
    ):
        for statement in (THREADS, FILL, SPREAD, NEWEST):
            cursor.execute(statement, values)
        cursor.execute("vacuum full runs_run")  # SPREAD has written each row again
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
    from benchmarks.report import keep
    from benchmarks.row_security import switch

    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.db import connection

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
    keep("rollup", lines)


if __name__ == "__main__":
    main()
