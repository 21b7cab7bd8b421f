"""Agents of a remote host: one counts aloud and leaves a line when it begins, one listens."""

import asyncio
from pathlib import Path

from agui_host import RunContext, agent

WORDS = 40
TEXT = "".join(f"{number} " for number in range(WORDS))


@agent("far-words")
async def far_words(ctx: RunContext) -> None:
    with (Path(ctx.forwarded_props["folder"]) / "tools").open("a") as file:
        file.write("begun\n")
    ctx.state["words"] = WORDS
    for half in range(2):
        with ctx.message(id=f"half-{half}") as message:
            for number in range(half * WORDS // 2, (half + 1) * WORDS // 2):
                message.write(f"{number} ")
                await asyncio.sleep(0.1)


@agent("far-listener")
async def far_listener(ctx: RunContext) -> str:
    return f"Heard: {(await anext(aiter(ctx.inbox))).content}"
