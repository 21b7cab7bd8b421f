"""A client process: runs the ``scripted`` agent and prints the number in each delta it gets.

argv: endpoint, key, transport; standard input: the script.
"""

import asyncio
import json
import sys
from contextlib import aclosing

from agui_client import AGUIClient


async def main(endpoint: str, key: str, transport: str) -> None:
    script = json.load(sys.stdin)
    client = AGUIClient(endpoint, api_key=key, transport=transport)  # type: ignore[arg-type]
    async with (
        client,
        aclosing(client.run("go", forwardedProps={"script": script})) as events,
    ):
        async for event in events:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                _, number, part = event["delta"].split()
                print(part, number, flush=True)
            elif event["type"].startswith("RUN_"):
                print(event["type"], flush=True)


asyncio.run(main(*sys.argv[1:]))
