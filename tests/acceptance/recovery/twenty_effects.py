"""Agents of twenty effects that stand still at a point that their run names, or kill their worker.

The files are the world outside: a line is written once for each time that an effect really happens.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from agui_host import RunContext, agent

EFFECTS = 20
PHASES = ("before", "started", "happened", "returned", "sending")
"""Where a run's point can be, relative to one effect."""
Course = Generator[tuple[int, str], Any, int]


def note(file: Path, *words: Any) -> None:
    """Append a line, in one write."""
    with file.open("ab", buffering=0) as log:
        log.write((" ".join(map(str, words)) + "\n").encode())


def lines(file: Path) -> list[list[str]]:
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


class Plan:
    """What a run was asked to do, in its ``forwardedProps``.

    ``point``: the effect and the phase at which it stands still, until ``folder / "on"`` exists.
    ``kills``: it kills its worker there instead, once the round has told it to go on to there.
    """

    def __init__(self, ctx: RunContext) -> None:
        props = ctx.forwarded_props
        self.attempt = ctx.attempt
        self.folder = Path(props["folder"])
        self.point = (props["point"][0], props["point"][1])
        self.kills = props["kills"]
        self.policy = props["policy"]
        self.pace = props["pace"]
        self.random = random.Random(props["seed"])
        note(self.folder / "worker", os.getpid())

    def waits_for(self, number: int, phase: str) -> Path | None:
        """The file for which the run is to wait here, if it is; or it kills its worker."""
        if (number, phase) != self.point or (self.folder / "reached").exists():
            return None
        note(self.folder / "reached", number, phase)
        if self.kills:
            note(self.folder / "fired", phase, number, time.time())
            os.kill(os.getpid(), signal.SIGKILL)
        return self.folder / "on"

    def gate(self, number: int) -> Path | None:
        """What a run that kills its worker waits for, just before the effect of its point."""
        if self.kills and number == self.point[0] and not (self.folder / "reached").exists():
            note(self.folder / "near", number)
            return self.folder / "on"
        return None

    async def effect(self, number: int) -> dict[str, int]:
        await reach(self, number, "started")
        await asyncio.sleep(self.pace * self.random.uniform(0.0, 0.1))
        note(self.folder / "happened", number, self.attempt)
        await reach(self, number, "happened")
        await asyncio.sleep(self.pace * self.random.uniform(0.0, 0.05))
        return value_of(number)

    def course(self, ctx: RunContext) -> Course:
        """Each point and, as ``once``, each effect, whose value is sent in."""
        total = 0
        for number in range(EFFECTS):
            yield number, "gate"
            yield number, "before"
            value = yield number, "once"
            note(self.folder / "returned", number, self.attempt)
            yield number, "returned"
            total += value["square"]
            name = f"{ctx.run_id}-{number}"
            if any(ctx.so_far.has(f"{name}-{n}") for n in range(1, ctx.attempt)):
                continue
            with ctx.message(id=f"{name}-{self.attempt}") as message:
                for word in ("this", "is", str(number)):
                    message.write(f"{word} ")
                    yield number, "sending"
        return total


def value_of(number: int) -> dict[str, int]:
    """What an effect returns."""
    return {"number": number, "square": number * number}


async def reach(plan: Plan, number: int, phase: str) -> None:
    file = plan.gate(number) if phase == "gate" else plan.waits_for(number, phase)
    await asyncio.sleep(0)
    while file and not file.exists():
        await asyncio.sleep(0.02)


def reach_in_thread(plan: Plan, number: int, phase: str) -> None:
    file = plan.gate(number) if phase == "gate" else plan.waits_for(number, phase)
    while file and not file.exists():
        time.sleep(0.02)


@agent("twenty-effects", recovery="continue", description="Twenty effects, one after the other.")
async def twenty_effects(ctx: RunContext) -> None:
    plan = Plan(ctx)
    course, value = plan.course(ctx), None
    try:
        while True:
            number, step = course.send(value)
            if step == "once":
                key = f"effect-{number}"
                value = await ctx.once(key, plan.effect, number, on_unverified=plan.policy)
            else:
                value = await reach(plan, number, step)
    except StopIteration as end:
        ctx.result = end.value


@agent("twenty-in-a-thread", recovery="continue", description="The same, by a plain function.")
def twenty_in_a_thread(ctx: RunContext) -> None:
    plan = Plan(ctx)
    course, value = plan.course(ctx), None
    try:
        while True:
            number, step = course.send(value)
            if step == "once":
                key = f"effect-{number}"
                value = ctx.once(key, plan.effect, number, on_unverified=plan.policy)
            else:
                value = reach_in_thread(plan, number, step)
    except StopIteration as end:
        ctx.result = end.value


@agent("poison", recovery="continue", description="Kills each worker that takes its run.")
async def poison(ctx: RunContext) -> None:
    note(Path(ctx.forwarded_props["folder"]) / "deaths", ctx.attempt)
    os.kill(os.getpid(), signal.SIGKILL)
