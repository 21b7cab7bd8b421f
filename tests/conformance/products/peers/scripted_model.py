"""What the scripted models of these agents answer, in whichever framework; needs no library."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

COUNT = " ".join(map(str, range(600)))
OF_THE_AGENT = ("lookup", "now")
"""Tools that are not the client's."""


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


def answer(users: Sequence[str], result: str | None, offered: Sequence[str]) -> str | Call:
    """The answer to what the user has said so far, or to a tool's result; fails when told to."""
    asked = users[-1]
    if result is not None:
        return f"The result is {result}."
    if asked == "fail":
        raise RuntimeError("the model is away")
    if asked == "count":
        return COUNT
    if asked.startswith("look up "):
        return Call("lookup", {"word": asked.removeprefix("look up ")})
    if asked == "what time is it?":
        return Call("now", {})
    if asked.startswith("add "):
        a, b = asked.removeprefix("add ").split(" and ")
        return Call(next(name for name in offered if name not in OF_THE_AGENT), {"a": a, "b": b})
    return f"You said {', then '.join(users)}."


async def spoken(text: str) -> AsyncIterator[str]:
    """The words with the blanks before them; counting takes a minute."""
    for place, word in enumerate(text.split(" ")):
        yield f"{' ' if place else ''}{word}"
        if text is COUNT:
            await asyncio.sleep(0.1)
