"""A2A's Python SDK of 0.3, with the address of an agent and a key in its HTTP client's headers."""

import asyncio
import json
import os
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import Client, ClientConfig, ClientFactory, create_text_message_object
from a2a.types import DataPart, Message, Part, Role, Task, TaskIdParams, TaskQueryParams
from a2a.utils import get_message_text

Json = dict[str, Any]


async def play(client: Client, message: Message) -> Task:
    """The task that a message leads to, as the SDK puts it together."""
    *_, (task, _) = [event async for event in client.send_message(message)]
    return task


def text(task: Task) -> str:
    parts = [part.root for artifact in task.artifacts or () for part in artifact.parts]
    return "".join(part.text for part in parts if part.kind == "text")


def words(content: str, **names: str) -> Message:
    return create_text_message_object(content=content).model_copy(update=names)


async def turns(client: Client) -> Json:
    """Two turns of one context, and what the server has of the second."""
    first = await play(client, words("my name is Ada"))
    second = await play(client, words("who am I?", context_id=first.context_id))
    stored = await client.get_task(TaskQueryParams(id=second.id))
    return {
        "texts": [text(first), text(second), text(stored)],
        "states": [first.status.state, second.status.state, stored.status.state],
        "contexts": [first.context_id, second.context_id, stored.context_id],
        "tasks": [first.id, second.id],
    }


async def question(client: Client) -> Json:
    """A question, and its answer to the same task."""
    waiting = await play(client, words("ask"))
    part = Part(root=DataPart(data={"approved": True}))
    answer = Message(role=Role.user, parts=[part], message_id=str(uuid4()), task_id=waiting.id)
    done = await play(client, answer)
    return {
        "question": get_message_text(waiting.status.message),
        "states": [waiting.status.state, done.status.state],
        "tasks": [waiting.id, done.id],
        "text": text(await client.get_task(TaskQueryParams(id=done.id))),
    }


async def cancel(client: Client) -> Json:
    """A task that is cancelled while its stream is read; a later subscription is refused."""
    states = []
    async with aclosing(client.send_message(words("count"))) as events:
        async for task, _ in events:
            states.append(task.status.state)
            if len(states) == 1:
                cancelled = await client.cancel_task(TaskIdParams(id=task.id))
    refusals = []
    for wrong in (cancelled.id, str(uuid4())):
        try:
            await client.cancel_task(TaskIdParams(id=wrong))
        except Exception as refusal:
            refusals.append(refusal.error.code)
    return {"cancelled": cancelled.status.state, "last": states[-1], "refusals": refusals}


CASES = {"turns": turns, "question": question, "cancel": cancel}


async def main() -> Json:
    """What each case saw, as a stream and as a whole answer."""
    records = {}
    headers = {"Authorization": f"Bearer {os.environ['AGUI_KEY']}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        for streaming in (True, False):
            config = ClientConfig(httpx_client=http, streaming=streaming)
            client = await ClientFactory.connect(os.environ["A2A_AGENT"], config)
            for name, case in CASES.items():
                if streaming or name != "cancel":
                    records[f"{name}-{streaming}"] = await case(client)
    return records


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
