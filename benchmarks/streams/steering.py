"""How soon an agent has a message that was sent to its run: POST → ``ctx.inbox``, in the same runs
as emit → received and as a GET of the run.

The agent emits its clock when it reads a message, and an SSE reader notes when that arrives; before
each message its sender asks for the run. So each message gives one figure of each. Everything
shares the machine's clock.
"""

import asyncio
import json
import time

import httpx

from agui_host import RunContext, agent
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host
from tests.acceptance.readers import open_client
from tests.conftest import own_data_dir

RUNS, MESSAGES, PAUSE = 10, 60, 0.2
PROMISE = 50


@agent("clocked")
async def clocked(ctx: RunContext) -> None:
    count = 0
    async for message in ctx.inbox:
        ctx.custom("read", {"id": message.id, "at": time.time()})
        if (count := count + 1) == MESSAGES:
            return


async def read(client: httpx.AsyncClient, run: str) -> dict[str, tuple[float, float]]:
    """When the agent has read each message, and when a reader has heard of it."""
    moments: dict[str, tuple[float, float]] = {}
    headers, rest = {"Accept": "text/event-stream"}, b""
    async with client.stream("GET", f"/api/v1/runs/{run}/events", headers=headers) as answer:
        async for chunk in answer.aiter_raw():
            now = time.time()
            *frames, rest = (rest + chunk).split(b"\n\n")
            for frame in frames:
                if b'"name":"read"' in frame:
                    value = json.loads(frame.split(b"data:", 1)[1])["value"]
                    moments[value["id"]] = (value["at"], now)
    return moments


async def say(
    client: httpx.AsyncClient, run: str, gets: list[float]
) -> dict[str, tuple[float, float]]:
    """When each message was sent, and when it was answered; ``gets``: the milliseconds of a GET."""
    moments = {}
    for number in range(MESSAGES):
        began = time.time()
        assert (await client.get(f"/api/v1/runs/{run}")).status_code == 200
        gets.append((time.time() - began) * 1000)
        began = time.time()
        body = {"id": f"m{number}", "role": "user", "content": "Only the last three years."}
        answer = await client.post(f"/api/v1/runs/{run}/messages", json=body)
        assert answer.status_code == 202, answer.text
        moments[body["id"]] = (began, time.time())
        await asyncio.sleep(PAUSE)
    return moments


async def measure(host: Host) -> tuple[list[float], list[float], list[float], list[float]]:
    """Milliseconds: POST → inbox, answer → inbox, emit → received, GET of a run."""
    to_agent, after_answer, to_reader = [], [], []
    gets: list[float] = []
    async with open_client(host) as client:
        runs = [(await asyncio.to_thread(host.begin, "clocked"))["id"] for _ in range(RUNS)]
        readers = [asyncio.create_task(read(client, run)) for run in runs]
        posts_of_all = await asyncio.gather(*(say(client, run, gets) for run in runs))
        for posts, reads in zip(posts_of_all, await asyncio.gather(*readers), strict=True):
            assert posts.keys() == reads.keys(), (len(posts), len(reads))
            for id, (began, answered) in posts.items():
                at, heard = reads[id]
                to_agent.append((at - began) * 1000)
                after_answer.append((at - answered) * 1000)
                to_reader.append((heard - at) * 1000)
    return to_agent, after_answer, to_reader, gets


def main() -> None:
    with own_data_dir() as data:
        host = Host(data, AGUI_AGENT_MODULES="benchmarks.streams.steering")
        try:
            host.start(fsync=True)
            to_agent, after_answer, to_reader, gets = asyncio.run(measure(host))
        finally:
            host.stop()
    half, most = percentile(to_agent, 0.5), percentile(to_agent, 0.99)
    verdict = "kept" if most <= PROMISE else "BROKEN"
    keep(
        "steering",
        [
            f"{len(to_agent)} messages to {RUNS} runs, one each {PAUSE * 1000:g} ms",
            f"POST → ctx.inbox      p50 {half:6.1f} ms   p99 {most:6.1f} ms"
            f"   promise {PROMISE} ms: {verdict}",
            f"answer → ctx.inbox    p50 {percentile(after_answer, 0.5):6.1f} ms"
            f"   p99 {percentile(after_answer, 0.99):6.1f} ms",
            f"emit → received       p50 {percentile(to_reader, 0.5):6.1f} ms"
            f"   p99 {percentile(to_reader, 0.99):6.1f} ms",
            f"GET of the run        p50 {percentile(gets, 0.5):6.1f} ms"
            f"   p99 {percentile(gets, 0.99):6.1f} ms",
            f"a message takes {half / percentile(to_reader, 0.5):.1f} times as long as an event"
            f" at p50, {most / percentile(to_reader, 0.99):.1f} times at p99; as a GET"
            f" {half / percentile(gets, 0.5):.1f} and {most / percentile(gets, 0.99):.1f} times",
        ],
    )


if __name__ == "__main__":
    main()
