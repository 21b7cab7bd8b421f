"""What row-level security costs: append, the runs list, and a page of events, with and without.

With: web and worker as the application's role, whose statements carry their scope and meet the
policies. Without: as the owner, to whom no policy applies. Both in turns, in one run; the promise
is 5 % at most on append and on the runs list.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_SCRIPTED_AGENT"] = "1"
os.environ["AGUI_LIMIT_EVENTS_PER_SECOND"] = "0"
os.environ["AGUI_LIMIT_RUNS_PER_MINUTE"] = "0"

ROUNDS = int(os.environ.get("ROUNDS", "15"))
ROWS = 100_000  # of one turn: two seconds or more, so that a turn is longer than what disturbs it
TEAMS, RUNS = 20, 250  # runs of each team
REQUESTS = 60
PROMISE = 1.05


def switch(on: bool) -> None:
    """Let all connections from here on be the application's, or the owner's."""
    from django.db import connection

    from agui_host.backends.postgres import roles
    from agui_host.backends.postgres.base import DatabaseWrapper, serve
    from agui_host.backends.postgres.reserved import ReservedWrapper

    connection.close()
    for wrapper in (DatabaseWrapper, ReservedWrapper):
        while wrapper._connection_pools:
            wrapper._connection_pools.popitem()[1].close()
    roles.process.serves = roles.process.logs_in = False
    if on:
        serve()
        with connection.cursor() as cursor:
            cursor.execute("select current_user, rolsuper from pg_roles where rolname=current_user")
            assert cursor.fetchone()[1] is False


def fill() -> tuple[str, Any]:
    """Teams with ended runs; a key of one of them, and one of its runs with a full page."""
    from django.db import connection
    from django.utils import timezone

    from agui_host.protocol.encoding import Record
    from agui_host.protocol.input import run_agent_input
    from agui_host.runtimes import create_team
    from agui_host.runtimes.models import Agent
    from agui_host.teams import keys
    from agui_host.teams.models import Role
    from events import journal
    from events.journal import Batch
    from events.models import Journal
    from runs.lifecycle import lifecycle
    from runs.models import Run

    for number in range(TEAMS):
        team = create_team.create_team(f"team-{number}", f"Team {number}")
        agent, _ = Agent.objects.get_or_create(team=team, slug="scripted", name="Scripted")
        request = run_agent_input.parse({"forwardedProps": {"script": []}})
        first = lifecycle.start(team, agent, request, started_by="bench").run
        now = timezone.now()
        journals = Journal.objects.bulk_create(Journal() for _ in range(RUNS))
        Run.objects.bulk_create(
            Run(
                journal=each, team=team, thread=first.thread, agent=agent,
                run_id=f"{each.pk}", input="{}", request_digest="x", started_by="bench",
                status="succeeded", ended_at=now, started_at=now,
            )
            for each in journals
        )  # fmt: skip
    _, key = keys.create_key(team, "bench", Role.OWNER)
    read = first.pk
    records = [Record("TEXT_MESSAGE_CONTENT", b"x" * 200, time.time()) for _ in range(500)]
    journal.append([Batch(read, 0, 1, records)])
    connection.cursor().execute("vacuum analyze")
    return key, (read, team.pk)


def listing(key: str) -> float:
    """Seconds per ``GET /api/v1/runs``, through Django."""
    from django.test import Client

    client = Client(headers={"authorization": f"Bearer {key}"})
    assert client.get("/api/v1/runs?limit=50").status_code == 200
    began = time.perf_counter()
    for _ in range(REQUESTS):
        client.get("/api/v1/runs?limit=50")
    return (time.perf_counter() - began) / REQUESTS


def page(run: Any) -> float:
    """Seconds per page of 500 events."""
    from agui_host.backends.postgres import scope
    from events import journal

    key, team = run
    with scope.limited(team):
        assert len(journal.read_after(key, 0).rows) == 500
        began = time.perf_counter()
        for _ in range(REQUESTS):
            journal.read_after(key, 0)
        return (time.perf_counter() - began) / REQUESTS


def appending(runs: int) -> float:
    """Seconds per event, from claim to the last stored terminal."""
    import uvloop

    from benchmarks import append

    append.ROWS = ROWS
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return 1 / runner.run(append.pipeline(runs))


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    switch(False)
    from agui_host.runtimes.demo import ensure_demo

    ensure_demo()
    key, run = fill()
    measures: dict[str, Callable[[], float]] = {
        "append, 1 run": lambda: appending(1),
        "append, 50 runs": lambda: appending(50),
        "runs list": lambda: listing(key),
        "page of events": lambda: page(run),
    }
    times: dict[tuple[str, bool], list[float]] = {}
    for turn in range(ROUNDS + 1):
        for name, measure in measures.items():
            for on in (False, True) if turn % 2 else (True, False):
                switch(on)
                seconds = measure()
                if turn:  # the first warms up
                    times.setdefault((name, on), []).append(seconds)
    lines = []
    for name in measures:
        plain, guarded = times[name, False], times[name, True]
        without, with_ = statistics.median(plain), statistics.median(guarded)
        # Of each turn's two, which follow each other: the machine changes from turn to turn.
        ratio = statistics.median(b / a for a, b in zip(plain, guarded, strict=True))
        verdict = ("kept" if ratio <= PROMISE else "BROKEN") if "page" not in name else "no promise"
        lines.append(
            f"{name:16} without {without * 1e6:>9,.1f} µs   with {with_ * 1e6:>9,.1f} µs"
            f"   ratio {ratio:.3f}   {verdict}"
        )
    keep("row_security", lines)
    switch(False)


if __name__ == "__main__":
    main()
