"""What ``ctx.once`` costs, and what the runs of agents pay that use none of it.

Through the executor and the writer, with fsync and synchronous_commit on. In turns, each run makes
an effect that does nothing, and sends two events, for each of which it waits until it is stored:
one group commit each, as many as an effect's two. Runs of an agent that continues and uses none of
it take turns with those of one that ends with its worker.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

EFFECTS, PLAIN, WORDS = 300, 200, 20
Milliseconds = list[float]


async def nothing() -> str:
    return "done"


async def play(runs: int, slug: str, agent: Callable[..., Any], **options: Any) -> float:
    """So many runs of the agent together, from their starts to their stored ends, in seconds."""
    from agui_host.backends.postgres.bridge import db
    from agui_host.runtimes import registry
    from events.writer import JournalWriter
    from runs.worker.executor import Stop, execute

    registry._agents.pop(slug, None)
    registry.agent(slug, **options)(agent)
    writer = JournalWriter()
    writing = asyncio.create_task(writer.run())
    began = time.perf_counter()
    claims = [await db(claim_one, slug, **options) for _ in range(runs)]
    await asyncio.gather(*(execute(claim, writer, lambda: Stop.CANCEL) for claim in claims))
    took = time.perf_counter() - began
    writer.close()
    await writing
    return took


async def round_of(runs: int) -> tuple[Milliseconds, Milliseconds]:
    """Of so many runs together: each effect, and each pair of stored events."""
    effects: Milliseconds = []
    pairs: Milliseconds = []

    async def agent(ctx: Any) -> None:
        for number in range(EFFECTS // runs):
            began = time.perf_counter()
            await ctx.once(f"effect-{number}", nothing)
            effects.append(1000 * (time.perf_counter() - began))
            began = time.perf_counter()
            for _ in range(2):
                ctx.custom("stored", number)
                await ctx.effects.stored()
            pairs.append(1000 * (time.perf_counter() - began))

    await play(runs, "effects", agent, recovery="continue")
    return effects, pairs


async def plain_runs() -> tuple[Milliseconds, Milliseconds]:
    """Start to stored end of runs that use no effect: of an agent that continues, of another."""

    async def agent(ctx: Any) -> None:
        with ctx.message() as message:
            for _ in range(WORDS):
                message.write("word ")
                await asyncio.sleep(0)

    continuing, ending = [], []
    for _ in range(PLAIN):
        ending.append(1000 * await play(1, "plain-end", agent, recovery="end"))
        continuing.append(1000 * await play(1, "plain-continue", agent, recovery="continue"))
    return continuing, ending


def claim_one(slug: str, recovery: str) -> Any:
    """A claimed run of the agent."""
    from agui_host.protocol.input import run_agent_input
    from agui_host.runtimes.demo import ensure_demo
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team
    from runs.lifecycle import lifecycle

    if not Team.objects.exists():
        ensure_demo()
    team = Team.objects.get(slug="demo")
    agent, _ = Agent.objects.get_or_create(
        team=team, slug=slug, defaults={"name": slug, "recovery": recovery}
    )
    run = lifecycle.start(team, agent, run_agent_input.parse({}), started_by="bench").run
    claimed = lifecycle.claim(run.pk)
    assert claimed
    return claimed


def compared(label: str, mine: Milliseconds, other: Milliseconds) -> str:
    half, of_other = statistics.median(mine), statistics.median(other)
    tenths = [statistics.median(mine[n::10]) / statistics.median(other[n::10]) for n in range(10)]
    return (
        f"{label} {half:.2f} ms : {of_other:.2f} ms in the median, × {half / of_other:.2f}"
        f" (in ten parts × {min(tenths):.2f} to {max(tenths):.2f})"
    )


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep
    from tests.conftest import own_data_dir

    with own_data_dir() as data, ExitStack() as stack:
        os.environ["AGUI_DATA_DIR"] = str(data)
        stack.callback(embedded.ensure().stop)
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        import uvloop

        lines = []
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(round_of(1))  # warm up
            for runs in (1, 20):
                effects, pairs = runner.run(round_of(runs))
                label = f"{runs:>2} runs, {len(effects)} effects: ctx.once : two stored events"
                lines.append(compared(label, effects, pairs))
            label = f"{PLAIN} runs without effects, start to end: recovery continue : end"
            lines.append(compared(label, *runner.run(plain_runs())))
        keep("effects", lines)


if __name__ == "__main__":
    main()
