"""What the agents of all peers say: the script of this host's ``scripted`` agent, as a message.

The servers run this file in their own environments, so it imports the standard library only.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any


def step(message: str) -> dict[str, Any]:
    """The one step of a script."""
    (only,) = json.loads(message)
    return dict(only)


async def deltas(message: str) -> AsyncIterator[str]:
    """``n`` deltas "<time.time()> <index> <text>" at ``rate``/s, as the ``scripted`` agent's."""
    play = step(message)
    rate, text = play.get("rate", 0), play["text"]
    tail, began = f" {text}".rstrip(), time.time()
    for index in range(play["n"]):
        if rate and (early := began + (index + 1) / rate - time.time()) > 0:
            await asyncio.sleep(early)
        yield f"{time.time():.6f} {index}{tail}"
