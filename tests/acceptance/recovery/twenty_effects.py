"""An agent of twenty effects, each of which leaves a line in a file, and which can kill its worker.

The files are the world outside: a line is written once for each time that an effect really happens.
"""

import asyncio
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from agui_host import RunContext, agent

EFFECTS = 20
PHASES = ("before", "started", "happened", "returned", "sending")
"""Where the agent kills its worker, relative to one effect."""


def note(file: Path, *words: Any) -> None:
    """Append a line, in one write."""
    with file.open("ab", buffering=0) as log:
        log.write((" ".join(map(str, words)) + "\n").encode())


def lines(file: Path) -> list[list[str]]:
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


class Plan:
    """Where a run kills its worker, if it does, and how long its effects take."""

    def __init__(self, ctx: RunContext) -> None:
        props = ctx.forwarded_props
        self.attempt = ctx.attempt
        self.folder = Path(props["folder"])
        self.kills_at = props.get("kills_at")
        self.random = random.Random(props["seed"])
        self.gate = Path(props["gate"])
        self.pace = props["pace"]

    @property
    def happened(self) -> Path:
        return self.folder / "happened"

    def reach(self, number: int, phase: str) -> None:
        if self.attempt == 1 and self.kills_at == [number, phase]:
            note(self.folder / "fired", phase, number, time.time())
            os.kill(os.getpid(), signal.SIGKILL)

    async def wait_at_the_gate(self) -> None:
        """Until all runs of the round have begun, so that a fault meets each in its middle."""
        while not self.gate.exists():
            await asyncio.sleep(0.02)

    async def effect(self, number: int) -> dict[str, int]:
        self.reach(number, "started")
        await asyncio.sleep(self.pace * self.random.uniform(0.0, 0.1))
        note(self.happened, number, self.attempt)
        self.reach(number, "happened")
        await asyncio.sleep(self.pace * self.random.uniform(0.0, 0.05))
        return {"number": number, "square": number * number}


@agent("twenty-effects", recovery="continue", description="Twenty effects, one after the other.")
async def twenty_effects(ctx: RunContext) -> None:
    plan = Plan(ctx)
    note(plan.folder / "worker", os.getpid())
    await plan.wait_at_the_gate()
    total = 0
    for number in range(EFFECTS):
        plan.reach(number, "before")
        value = await ctx.once(f"effect-{number}", plan.effect, number)
        note(plan.folder / "returned", number, plan.attempt)
        plan.reach(number, "returned")
        total += value["square"]
        if not any(ctx.so_far.has(f"m-{number}-{n}") for n in range(1, ctx.attempt)):
            with ctx.message(id=f"m-{number}-{plan.attempt}") as message:
                for word in ("this", "is", str(number)):
                    message.write(f"{word} ")
                    plan.reach(number, "sending")
                    await asyncio.sleep(0)
    ctx.result = total
