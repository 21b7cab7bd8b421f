"""Two teams and one worker: A has a backlog, B starts something now and then. Who waits?"""

import time
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg

from agui_host.embedded import paths
from tests.acceptance.host import Host, wait_for

CHUNK = 1_000
B_KEY = "charlie-key-of-the-fairness-tests-001"
TEAM_B = f"""
from agui_host.runtimes.models import Agent
from agui_host.teams import keys
from agui_host.teams.models import Role, Team
team = Team.objects.create(slug="b", name="B")
Agent.objects.create(team=team, slug="scripted", name="Scripted")
keys.adopt_key(team, {B_KEY!r}, "b", Role.OWNER)
"""
# By the verb that the API calls, since 10,000 requests would take minutes.
BACKLOG = """
from agui_host.protocol.input import run_agent_input
from runs.lifecycle import lifecycle
from agui_host.runtimes.models import Agent
rows = Agent.objects.unscoped("a measurement").select_related("team")
agent = rows.exclude(team__slug="b").get(slug="scripted")
request = {{"forwardedProps": {{"script": [{{"sleep": {seconds}}}]}}}}
for _ in range({runs}):
    lifecycle.start(agent.team, agent, run_agent_input.parse(dict(request)), started_by="user:a")
"""
REPORT = """
select t.slug, extract(epoch from r.created_at)::float,
       coalesce(extract(epoch from r.started_at)::float, 'infinity'),
       coalesce(extract(epoch from r.ended_at)::float, 'infinity')
from runs_run r join teams_team t on t.id = r.team_id
"""


@dataclass(frozen=True)
class Span:
    """A run's times, in epoch seconds."""

    team: str
    created: float
    started: float
    ended: float


@dataclass(frozen=True)
class Seen:
    """What came of it. Waits are seconds; ``share`` is A's part of all slots while B was there.

    ``pickups`` are B's waits beyond the shortest remaining run; ``overtaken`` counts, for each
    run of B, the runs of A that began between its request and its start.
    """

    waits: list[float]
    pickups: list[float]
    overtaken: list[int]
    share: float
    left: int


def observe(host: Host, *, backlog: int, seconds: float, slots: int, starts: int) -> Seen:
    """Queue A's backlog of runs of ``seconds``, then let B start one every second."""
    host.worker.stop()
    before = TEAM_B
    for _ in range(0, backlog, CHUNK):
        host.python(before + BACKLOG.format(seconds=seconds, runs=min(CHUNK, backlog)))
        before = ""
    host.spawn(host.worker)
    host.wait_ready()
    wait_for(lambda: _running(host) >= slots, "all slots to be taken")
    ids = []
    with host.client(B_KEY) as client:
        began = time.monotonic()
        for number in range(starts):
            time.sleep(max(0.0, began + number - time.monotonic()))
            ids.append(_start(client, seconds))
        wait_for(lambda: all(_ended(client, each) for each in ids[-3:]), "B's runs to end")
    with psycopg.connect(host=str(paths.socket_dir(host.data)), user="postgres") as link:
        return _judge([Span(*row) for row in link.execute(REPORT)], slots)


def _running(host: Host) -> int:
    with host.client() as client:
        page = client.get("/api/v1/runs", params={"status": "running", "limit": 200}).json()
        return len(page["results"])


def _start(client: httpx.Client, seconds: float) -> str:
    body = {"agent": "scripted", "input": {"forwardedProps": {"script": [{"sleep": seconds}]}}}
    answer = client.post("/api/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def _ended(client: httpx.Client, run_id: str) -> bool:
    return client.get(f"/api/v1/runs/{run_id}").json()["ended_at"] is not None


def _judge(spans: list[Span], slots: int) -> Seen:
    ours = [span for span in spans if span.team == "b"]
    theirs = [span for span in spans if span.team != "b"]
    begin, end = min(span.created for span in ours), max(span.ended for span in ours)
    busy = sum(max(0.0, min(s.ended, end) - max(s.started, begin)) for s in theirs)
    return Seen(
        waits=[span.started - span.created for span in ours],
        pickups=[_pickup(span, spans, slots) for span in ours],
        overtaken=[sum(span.created < a.started < span.started for a in theirs) for span in ours],
        share=busy / (slots * (end - begin)),
        left=sum(span.started == float("inf") for span in theirs),
    )


def _pickup(span: Span, spans: list[Span], slots: int) -> float:
    """How long after the first slot was free the run began."""
    running = [s.ended for s in spans if s.started <= span.created < s.ended]
    free = min(running) if len(running) >= slots else span.created
    return span.started - max(free, span.created)


def lines(outcome: Seen) -> list[str]:
    """The figures, for people."""

    def three(values: list[Any]) -> str:
        ordered = sorted(values)
        quantiles = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1])
        return "p50 {:.3f}  p99 {:.3f}  max {:.3f}".format(*quantiles)

    return [
        f"B's waits, {len(outcome.waits)} runs, seconds       {three(outcome.waits)}",
        f"  beyond the shortest remaining run   {three(outcome.pickups)}",
        f"  runs of A that began meanwhile      {three(outcome.overtaken)}",
        f"A's share of the slots: {outcome.share:.1%}; {outcome.left} of its runs still wait",
    ]
