"""The chain of one agent: ``Agent.middleware`` checked, built for a run, and run."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any

from pydantic import ValidationError as Malformed

from runtimes.base import RunContext
from runtimes.middleware.base import Middleware, Options, Wire
from runtimes.middleware.kinds import MIDDLEWARE

MOST = 20


class BadChain(ValueError):
    """A list of middleware that cannot be built; the message says which entry, and why."""


def parse(entries: Any) -> list[tuple[type[Middleware], Options]]:
    """Each entry ``{"name": …, option: …}`` as its class and options. Raises BadChain."""
    if not isinstance(entries, list):
        raise BadChain('middleware is a list of objects such as {"name": "log"}.')
    if len(entries) > MOST:
        raise BadChain(f"An agent has at most {MOST} middleware.")
    return [_entry(number, entry) for number, entry in enumerate(entries)]


def _entry(number: int, entry: Any) -> tuple[type[Middleware], Options]:
    name = entry.get("name") if isinstance(entry, dict) else None
    kind = MIDDLEWARE.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(sorted(MIDDLEWARE))
        raise BadChain(f'middleware[{number}] needs a "name", one of: {known}.')
    given = {key: value for key, value in entry.items() if key != "name"}
    try:
        return kind, kind.Options.model_validate(given)
    except Malformed as bad:
        problems = "; ".join(_problem(error) for error in bad.errors(include_input=False))
        raise BadChain(f"middleware[{number}] ({name}): {problems}.") from None


def _problem(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"there is no option {where!r}"
    return f"{where}: {error['msg']}" if where else str(error["msg"])


class Chain:
    """The middleware of one run, in order: the first one is next to the agent."""

    def __init__(self, entries: Any, ctx: RunContext) -> None:
        """Raises BadChain."""
        self._links = [kind(options, ctx) for kind, options in parse(entries)]

    async def stream(self, events: AsyncGenerator[Wire, None]) -> AsyncGenerator[Wire, None]:
        """``events`` through every middleware; closing this closes each of them, then ``events``.

        Nothing is read ahead here, so whoever reads slowly slows the agent.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(aclosing(events))
            for link in self._links:
                events = await stack.enter_async_context(aclosing(link.stream(events)))
            async for event in events:
                yield event

    def rest(self) -> list[Wire]:
        """After the stream was cut short: what each still has to say, as the next one gives it."""
        found: list[Wire] = []
        for link in self._links:
            found = [out for event in found for out in link.feed(event)]
            found.extend(link.rest())
        return found
