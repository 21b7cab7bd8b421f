"""What the readers of a thread's last answer have of it, each by its own protocol."""

import json
from typing import Any

import openai
from a2a.types.a2a_pb2 import ListTasksRequest

from tests.acceptance.host import Host
from tests.conformance.dialects import test_a2a, test_mcp

Json = dict[str, Any]
ADD: Any = {
    "type": "function",
    "name": "add",
    "description": "Adds two numbers",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "strict": True,
}
"""A tool of the application, as Responses wants it."""


def responses(host: Host) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{host.url}/v1", api_key=host.key, max_retries=0)


def runs(host: Host, thread: str) -> list[Json]:
    """The runs of a thread, the first one first."""
    with host.client() as client:
        page = client.get("/api/v1/runs", params={"thread_id": thread}).json()
    return list(page["results"])[::-1]


def messages(host: Host, thread: str) -> list[Json]:
    """A thread's messages, as AG-UI has them."""
    with host.client() as client:
        return list(client.get(f"/agui/threads/{thread}/messages").json()["messages"])


def spoken(host: Host, thread: str) -> list[tuple[str, str]]:
    """Who said which words."""
    texts = [(each["role"], each.get("content")) for each in messages(host, thread)]
    return [(role, text) for role, text in texts if role in ("user", "assistant") and text]


async def last_answers(host: Host, slug: str, thread: str) -> dict[str, str]:
    """The text of a thread's last answer, reader by reader."""
    key = f"resp_{runs(host, thread)[-1]['id']}"
    with responses(host) as client, client.responses.retrieve(key, stream=True) as stream:
        streamed = [each.delta for each in stream if each.type == "response.output_text.delta"]
        retrieved = client.responses.retrieve(key).output_text
    with host.client() as client:
        chat = client.get(f"/api/chat/{slug}/{thread}").json()
    async with test_mcp.client(host) as mcp:
        resource = json.loads(await test_mcp.read(mcp, f"agui://threads/{thread}"))
    async with test_a2a.client(host, f"/a2a/{slug}") as agent:
        of_thread = ListTasksRequest(context_id=thread, include_artifacts=True)
        tasks = (await agent.list_tasks(of_thread)).tasks
    return {
        "AG-UI": spoken(host, thread)[-1][1],
        "Responses": retrieved,
        "Responses, streamed": "".join(streamed),
        "AI SDK": "".join(part["text"] for part in chat[-1]["parts"] if part["type"] == "text"),
        "MCP": resource[-1]["content"],
        "A2A": test_a2a.text(tasks[0]),
    }
