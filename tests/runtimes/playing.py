"""Play an agent once, the way the executor does, and look at what came out."""

from contextlib import aclosing
from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

from agui_host import RunContext
from agui_host.runtimes.kinds.python import PythonRuntime
from agui_host.runtimes.registry import Registered

EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def run_input(text: str | list[Any] = "", **body: Any) -> dict[str, Any]:
    """A RunAgentInput with one user message."""
    message = {"id": "u1", "role": "user", "content": text}
    return {"threadId": "t", "runId": "r", "messages": [message] if text else [], **body}


def runtime(target: Any, default_state: Any = None) -> PythonRuntime:
    """The runtime of an agent that is not in the registry."""
    return PythonRuntime(Registered("x", "X", "", None, default_state, True, target))


async def play(
    target: Any,
    body: dict[str, Any] | None = None,
    default_state: Any = None,
    into: list[dict[str, Any]] | None = None,
    **about: Any,
) -> list[dict[str, Any]]:
    """Every event of one run, in wire form and valid; ``into`` keeps them when it raises."""
    ctx = RunContext(body or run_input("hello"), agent="x", **about)
    events = [] if into is None else into
    async with aclosing(runtime(target, default_state).run(ctx)) as stream:
        async for event in stream:
            wire = (
                event
                if isinstance(event, dict)
                else event.model_dump(mode="json", by_alias=True, exclude_none=True)
            )
            EVENT.validate_python(wire)
            events.append(wire)
    return events


def types(events: list[dict[str, Any]]) -> list[str]:
    """Their types, in order."""
    return [event["type"] for event in events]


def text_of(events: list[dict[str, Any]]) -> str:
    """All text of all messages."""
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The events of one type."""
    return [event for event in events if event["type"] == kind]
