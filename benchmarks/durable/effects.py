"""What ``ctx.once`` costs: effects of one run after each other, and of twenty runs at once.

Through the executor and the writer, with fsync and synchronous_commit on. The effect itself does
nothing, so all of the time is that of its two commits.
"""

import asyncio
import os
import statistics
import time
from contextlib import suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

EFFECTS = 300


async def round_of(runs: int) -> list[float]:
    """The milliseconds of each effect of so many runs together."""
    from agui_host.backends.postgres.bridge import db
    from agui_host.runtimes import registry
    from events.writer import JournalWriter
    from runs.worker.executor import Stop, execute

    took: list[float] = []

    async def nothing() -> str:
        return "done"

    async def agent(ctx: Any) -> None:
        for number in range(EFFECTS // runs):
            began = time.perf_counter()
            await ctx.once(f"effect-{number}", nothing)
            took.append(1000 * (time.perf_counter() - began))

    registry._agents.pop("effects", None)
    registry.agent("effects", recovery="continue")(agent)
    claims = [await db(claim_one) for _ in range(runs)]
    writer = JournalWriter()
    writing = asyncio.create_task(writer.run())
    await asyncio.gather(*(execute(claim, writer, lambda: Stop.CANCEL) for claim in claims))
    writer.close()
    await writing
    return took


def claim_one() -> Any:
    """A claimed run of the agent of effects."""
    from agui_host.protocol.input import run_agent_input
    from agui_host.runtimes.demo import ensure_demo
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team
    from runs.lifecycle import lifecycle

    if not Team.objects.exists():
        ensure_demo()
    team = Team.objects.get(slug="demo")
    agent, _ = Agent.objects.get_or_create(
        team=team, slug="effects", defaults={"name": "Effects", "recovery": "continue"}
    )
    run = lifecycle.start(team, agent, run_agent_input.parse({}), started_by="bench").run
    claimed = lifecycle.claim(run.pk)
    assert claimed
    return claimed


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    import uvloop

    lines = []
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(round_of(1))  # warm up
        for runs in (1, 20):
            began = time.perf_counter()
            took = sorted(runner.run(round_of(runs)))
            rate = len(took) / (time.perf_counter() - began)
            lines.append(
                f"{runs:>2} runs: {rate:,.0f} effects/s, {statistics.median(took):.1f} ms in the"
                f" median, {took[int(0.99 * len(took))]:.1f} ms p99"
            )
    keep("effects", lines)
    with suppress(Exception):
        from django.db import connection

        connection.close_pool()


if __name__ == "__main__":
    main()
