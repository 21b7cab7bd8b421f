"""One conversation, each turn by another stock client, has one history in all of them."""

import json
from typing import Any

import durable_streams
import openai
from a2a.types.a2a_pb2 import ListTasksRequest

from tests.acceptance.host import Host
from tests.conformance.dialects import test_a2a, test_mcp
from tests.conformance.node import ready_packages, run_node

THREAD = "all-clients"
NODE = 8
"""Turns of the clients of JavaScript."""
Turn = list[str]
"""A role and a text."""


async def begin(host: Host, client: openai.OpenAI) -> list[Turn]:
    """The turns of the clients of Python; what each says and hears."""
    script = [{"text": "Hello."}]
    props = {"forwardedProps": {"script": script}, "conversation": THREAD}
    client.responses.create(model="scripted", input="I am OpenAI.", extra_body=props)
    message = json.dumps(script)
    async with test_mcp.client(host) as mcp:
        await mcp.call_tool("scripted", {"message": message, "thread_id": THREAD})
    async with test_a2a.client(host, "/a2a/scripted") as agent:
        await test_a2a.play(agent, test_a2a.hello(*script, contextId=THREAD))
    turns = [[["user", words], ["assistant", "Hello."]] for words in ("I am OpenAI.", message)]
    return [*turns[0], *turns[1], ["user", "hello"], ["assistant", "Hello."]]


async def histories(host: Host, client: openai.OpenAI, runs: list[Any]) -> dict[str, list[Turn]]:
    """The conversation as each client of Python has it; those that know no threads, run by run."""
    async with test_mcp.client(host) as mcp:
        thread = json.loads(await test_mcp.read(mcp, f"agui://threads/{THREAD}"))
    async with test_a2a.client(host, "/a2a/scripted") as agent:
        tasks_of_thread = ListTasksRequest(context_id=THREAD, include_artifacts=True)
        tasks = list((await agent.list_tasks(tasks_of_thread)).tasks)[::-1]
    responses, streams, spoken = list[Turn](), list[str](), list[Turn]()
    for run in runs:
        key = f"resp_{run['id']}"
        (item,) = client.responses.input_items.list(key).data
        responses.append(["user", item.content[0].text])
        responses.append(["assistant", client.responses.retrieve(key).output_text])
        address = host.url + run["stream_url"]
        with durable_streams.stream(address, live=False, headers=host.headers) as page:
            streams.append("".join(event.get("delta", "") for event in page.read_json()))
    for task in tasks:
        spoken.append(["user", task.history[0].parts[0].text])
        spoken.append(["assistant", test_a2a.text(task)])
    turns = zip(responses[::2], streams, strict=True)
    return {
        "MCP, PyPI": [[each["role"], each["content"]] for each in thread],
        "A2A": spoken,
        "OpenAI, PyPI": responses,
        "Durable Streams": [
            each for user, answer in turns for each in (user, ["assistant", answer])
        ],
    }


async def test_each_client_has_the_same_conversation(packages: None, host: Host) -> None:
    with host.client() as client:
        client.patch("/api/v1/agents/scripted", json={"is_tool": True}).raise_for_status()
    with openai.OpenAI(base_url=f"{host.url}/v1", api_key=host.key) as client:
        spoken = await begin(host, client)
        script = str(ready_packages() / "together.mjs")
        task = {"url": host.url, "key": host.key, "thread": THREAD}
        done = run_node(["--experimental-websocket", script], json.dumps(task))
        assert done.returncode == 0, done.stderr
        outcome = json.loads(done.stdout)
        assert len(outcome["spoken"]) == NODE * 2
        spoken += outcome["spoken"]
        with host.client() as api:
            runs = api.get("/api/v1/runs", params={"thread_id": THREAD}).json()["results"][::-1]
            stored = api.get(f"/agui/threads/{THREAD}/messages").json()["messages"]
        assert [run["status"] for run in runs] == ["succeeded"] * (NODE + 3)
        assert [[each["role"], each["content"]] for each in stored] == spoken
        read = {**outcome["histories"], **await histories(host, client, runs)}
    assert len(read) == 10
    for name, history in read.items():
        assert history == spoken, name
