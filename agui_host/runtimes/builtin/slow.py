"""The ``slow`` agent: a run that takes its time, to leave, join late and come back to."""

import asyncio

from agui_host.runtimes import RunContext, agent

TEXT = (
    "You may close this tab now: the run continues without you, every event is kept, and anyone "
    "who opens it later sees all of it from the beginning and then the rest as it happens."
)
WORDS = TEXT.split()
MOST_STEPS, MOST_SECONDS = 10_000, 3_600.0


def setting(ctx: RunContext, name: str, default: float, most: float) -> float:
    """A number from forwardedProps, else from the agent's settings, within 0 and ``most``."""
    props = ctx.forwarded_props if isinstance(ctx.forwarded_props, dict) else {}
    for value in (props.get(name), ctx.settings.get(name)):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return min(max(value, 0), most)
    return default


@agent("slow", description="Works in steps over minutes; made for joining late.")
async def slow(ctx: RunContext) -> None:
    """``steps`` (20) steps of ``seconds`` (3) each, a few words at a time."""
    steps = int(setting(ctx, "steps", 20, MOST_STEPS))
    seconds = setting(ctx, "seconds", 3.0, MOST_SECONDS)
    loop = asyncio.get_running_loop()
    began = loop.time()
    ctx.state["progress"] = {"step": 0, "steps": steps}
    for number in range(1, steps + 1):
        with ctx.step(f"step {number}"), ctx.message() as message:
            message.write(f"Step {number} of {steps}.")
            words = [WORDS[(number + at) % len(WORDS)] for at in range(8)]
            for at, word in enumerate(words, 1):
                # Measured from the start of the run, so that small delays do not add up.
                due = began + (number - 1 + at / len(words)) * seconds
                await asyncio.sleep(max(0.0, due - loop.time()))
                message.write(f" {word}")
        ctx.state["progress"]["step"] = number
