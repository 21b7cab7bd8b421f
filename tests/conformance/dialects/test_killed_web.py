"""The web process is killed in the middle of a run of each stock client; each resumes in its way.

One kill serves them all, or one client of each wire. The script's gate holds every run in mid-text
until a new process answers and the clients are back; the worker does not notice.
"""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import durable_streams
import openai
import pytest
from a2a.types.a2a_pb2 import GetTaskRequest, SubscribeToTaskRequest

from tests.acceptance.host import Host
from tests.conformance.dialects import test_a2a, test_mcp
from tests.conformance.dialects.test_mcp import read, run_in
from tests.conformance.node import ready_packages
from tests.conformance.scenarios.parts import more, text
from tests.needs import need

Json = dict[str, Any]
HALF = "a" * 10
SECONDS = 150


class Moments:
    """All clients are in mid-text; the host is back; all have resumed."""

    def __init__(self, clients: int) -> None:
        self.halfway, self.resumed = asyncio.Barrier(clients + 1), asyncio.Barrier(clients + 1)
        self.back = asyncio.Event()


class Reader:
    """A client of this process: reads a run in a thread of its own until that breaks, and on."""

    def __init__(self, host: Host, script: list[Json], moments: Moments, thread: str) -> None:
        self.host, self.script, self.moments, self.thread = host, script, moments, thread

    async def halfway(self) -> None:
        print("halfway:", self.thread)  # A test that waits for ever then says for whom.
        await self.moments.halfway.wait()

    async def back(self) -> None:
        """The host answers again."""
        task = asyncio.current_task()
        if task and task.cancelling():  # A client has taken the cancel for a lost connection.
            raise asyncio.CancelledError
        await self.moments.back.wait()

    async def resumed(self) -> None:
        print("resumed:", self.thread)
        await self.moments.resumed.wait()

    @property
    def props(self) -> Json:
        return {"forwardedProps": {"script": self.script}}


@contextmanager
def lost() -> Iterator[None]:
    """A connection that is lost in here, whatever its client calls that."""
    try:
        yield
    except AssertionError:
        raise
    except Exception:
        return
    raise AssertionError("nothing was lost")


async def openai_python(reader: Reader) -> str:
    client = openai.AsyncOpenAI(base_url=f"{reader.host.url}/v1", api_key=reader.host.key)
    words, made, last = "", "", 0
    create = client.responses.create(
        model="scripted", input="go", stream=True, background=True,
        extra_body={**reader.props, "conversation": reader.thread},
    )  # fmt: skip
    with lost():
        async for event in await create:
            last = event.sequence_number
            made = made or event.response.id
            if event.type == "response.output_text.delta":
                words += event.delta
                if words == HALF:
                    await reader.halfway()
    await reader.back()
    rest = await client.responses.retrieve(made, stream=True, starting_after=last)
    await reader.resumed()
    words += "".join([e.delta async for e in rest if e.type == "response.output_text.delta"])
    await client.close()
    return words


async def durable_streams_python(reader: Reader) -> str:
    run = await asyncio.to_thread(reader.host.begin, script=reader.script, threadId=reader.thread)
    address, words, offset = reader.host.url + run["stream_url"], "", "-1"

    async def read() -> None:
        nonlocal words, offset
        async with durable_streams.astream(
            address, offset=offset, live="sse", headers=reader.host.headers
        ) as response:
            if offset != "-1":
                await reader.resumed()
            async for each in response.iter_events(mode="json"):
                for event in each.data:
                    words += event["delta"] if event["type"] == "TEXT_MESSAGE_CONTENT" else ""
                    if event["type"] == "RUN_FINISHED":
                        return
                offset = each.next_offset
                if words == HALF:
                    await reader.halfway()

    with lost():
        await read()
    await reader.back()
    await read()
    return words


async def a2a(reader: Reader) -> str:
    async with test_a2a.client(reader.host, "/a2a/scripted") as agent:
        task_id, words = "", ""
        outgoing = test_a2a.hello(*reader.script, contextId=reader.thread)
        with lost():
            async for frame in agent.send_message(outgoing):
                task_id = task_id or frame.task.id
                words += test_a2a.piece(frame)
                if words == HALF:
                    await reader.halfway()
        await reader.back()
        rest = agent.subscribe(SubscribeToTaskRequest(id=task_id))
        begun = await anext(rest)
        await reader.resumed()
        words = test_a2a.text(begun.task)
        words += "".join([test_a2a.piece(frame) async for frame in rest])
        assert test_a2a.text(await agent.get_task(GetTaskRequest(id=task_id))) == words
        return words


async def mcp(reader: Reader) -> str:
    """A call that is lost has left its run, which is a resource."""

    arguments = {"message": json.dumps(reader.script), "thread_id": reader.thread}
    with lost():
        async with test_mcp.client(reader.host) as client:
            call = asyncio.create_task(client.call_tool("scripted", arguments))
            while (
                not (row := await run_in(client, reader.thread))
                or await read(client, row.uri) != HALF
            ):
                await asyncio.sleep(0.05)
            await reader.halfway()
            await call
    await reader.back()
    async with test_mcp.client(reader.host) as client:
        assert await read(client, row.uri) == HALF
        await reader.resumed()
        while "succeeded" not in (await run_in(client, reader.thread)).title:
            await asyncio.sleep(0.05)
        return await read(client, row.uri)


PYTHON: dict[str, Callable[[Reader], Awaitable[str]]] = {
    "OpenAI, PyPI": openai_python,
    "Durable Streams, PyPI": durable_streams_python,
    "A2A": a2a,
    "MCP, PyPI": mcp,
}


async def in_node(
    host: Host, script: list[Json], few: list[str] | None, moments: Moments, errors: Path
) -> dict[str, str]:
    """The clients of JavaScript, or a few of them, in one process."""
    packages = ready_packages()
    with errors.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            need("node"), "--experimental-websocket", str(packages / "killed.mjs"),
            cwd=packages, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
    assert process.stdin
    assert process.stdout
    try:
        task = {"url": host.url, "key": host.key, "script": script, "half": HALF, "few": few}
        process.stdin.write(json.dumps(task).encode())
        process.stdin.close()
        for word in ("halfway", "resumed"):
            line = (await process.stdout.readline()).decode().strip()
            assert line == word, line + errors.read_text()
            await getattr(moments, word).wait()
        last = await process.stdout.read()
        return dict(json.loads(last))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


ALL = 15
FEW = ["AI SDK", "OpenAI, npm", "@ag-ui/client 1"]
"""With those of Python each wire has one; TanStack's reads AG-UI."""


async def test_one_client_of_each_wire_resumes(
    packages: None, tough_host: Host, tmp_path: Path
) -> None:
    assert len(await resumed(tough_host, tmp_path, FEW)) == len(FEW) + len(PYTHON)


@pytest.mark.soak
async def test_each_client_resumes(
    packages: None, new_host: Callable[..., Host], tmp_path: Path
) -> None:
    assert len(await resumed(new_host(), tmp_path)) == ALL


async def resumed(host: Host, tmp_path: Path, few: list[str] | None = None) -> dict[str, str]:
    """The text that each client had in the end, which is the log's."""
    gate = tmp_path / "gate"
    script = [*text("m", *HALF, end=False), {"until": str(gate)}, *more("m", *"b" * 10)]
    with host.client() as client:
        client.patch("/api/v1/agents/scripted", json={"is_tool": True}).raise_for_status()
    moments = Moments(len(PYTHON) + 1)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as clients:
        node = clients.create_task(in_node(host, script, few, moments, tmp_path / "node.log"))
        python = {
            name: clients.create_task(play(Reader(host, script, moments, name)))
            for name, play in PYTHON.items()
        }
        await moments.halfway.wait()
        host.restart(host.web, signal_=signal.SIGKILL)
        moments.back.set()
        await moments.resumed.wait()
        gate.touch()
    texts = {**node.result(), **{name: task.result() for name, task in python.items()}}
    for name, words in texts.items():
        with host.client() as client:
            query = {"thread_id": name}
            (run,) = client.get("/api/v1/runs", params=query).json()["results"]
        log = [row["event"] for row in host.events(run["id"])]
        stored = "".join(e["delta"] for e in log if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert stored == HALF + "b" * 10
        assert words == stored, name
    return texts
