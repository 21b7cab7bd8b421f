"""A server as the workshop makes one: served by granian in a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agui_client import AGUIServer


async def agent(input: dict[str, Any]) -> AsyncIterator[Any]:
    """Does what the last message says."""
    question = input["messages"][-1]["content"] if input["messages"] else ""
    match question:
        case "fail":
            yield "so far"
            raise RuntimeError("the agent's secret")
        case "wait":
            yield "waiting"
            await asyncio.Event().wait()
        case "events":
            yield {"type": "RUN_STARTED", "threadId": input["threadId"], "runId": input["runId"]}
            yield {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}
            yield {"type": "RUN_FINISHED", "threadId": input["threadId"], "runId": input["runId"]}
            yield "too late"
        case _:
            roles = [message["role"] for message in input["messages"]]
            yield "you said "
            yield f"{question!r} after {roles}"


app = AGUIServer(agent, title="Echo", description="Says it again").create_app()
nobody = AGUIServer().create_app()
