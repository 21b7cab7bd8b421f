"""Fifty runs over one socket: one asks, one is cancelled, and restarts of the host lose nothing."""

import asyncio
import json
import os
import sys
import uuid

from agui_client import HostClient

RUNS, STEPS, NAME = int(sys.argv[1]), int(sys.argv[2]), uuid.uuid4()


async def main() -> None:
    logs: dict[str, list[list[object]]] = {}
    async with HostClient(os.environ["AGUI_URL"], api_key=os.environ["AGUI_KEY"]) as host:

        async def follow(run: dict[str, str], cancel_at: int = 0) -> None:
            log = logs.setdefault(run["id"], [])
            async for seq, event in host.follow(run["id"]):
                log.append([seq, event])
                if seq == cancel_at:
                    await host.cancel(run["id"])

        async def work(number: int, steps: int = STEPS, cancel_at: int = 0) -> None:
            job = {"steps": steps, "seconds": 0.5}
            key = f"{NAME} {number}"
            await follow(await host.start("slow", key=key, forwardedProps=job), cancel_at)

        async def ask() -> None:
            run = await host.start("approval", "Pay 5 euros to Bob")
            await follow(run)
            async for question in host.inbox(run=run["id"]):
                await follow(await host.answer(question["id"], {"approved": True}) or {})

        jobs = map(work, range(RUNS - 2))
        await asyncio.gather(*jobs, ask(), work(RUNS, 10_000, cancel_at=20))
        print(json.dumps({"sockets": host.sockets_opened, "logs": logs}))


asyncio.run(main())
