"""A chat's new message, while a run of its thread has not ended."""

import json
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.ai_sdk import request as chat_request
from agui_host.dialects.ai_sdk import verbs as chat_starts
from agui_host.dialects.openai import completions
from agui_host.dialects.openai.request import read_chat
from runs.access import start
from runs.lifecycle.lifecycle import ThreadBusy
from runs.models import Run, Status
from tests.asgi import Exchange, ask
from tests.cast import Actor, Cast

pytestmark = pytest.mark.django_db(transaction=True)


def ai_sdk(actor: Actor, number: int, **more: Any) -> Run:
    parts = [{"type": "text", "text": "x"}]
    message = {"id": f"u{number}", "role": "user", "parts": parts}
    request = chat_request.read({"id": "t", "messages": [message], **more})
    return chat_starts.begin(
        actor.principal, request, agent="echo", key=None, digest=request.digest
    ).run


def ag_ui(actor: Actor, number: int, **more: Any) -> Run:
    """As assistant-ui and CopilotKit send it: the whole history under a new runId."""
    messages = [{"id": f"u{n}", "role": "user", "content": "x"} for n in range(1, number + 1)]
    body = {"threadId": "t", "messages": messages, **more}
    return start.start_from_agui(
        actor.principal, json.dumps(body).encode(), agent="echo", on_busy=None, key=None,
        cursor=None, chat=True,
    ).run  # fmt: skip


def completion(actor: Actor, number: int, **more: Any) -> Run:
    body = {"model": "echo", "messages": [{"role": "user", "content": f"x{number}"}], **more}
    return completions.begin(actor.principal, read_chat(body, "t"), None)


each = pytest.mark.parametrize("send", [ai_sdk, completion, ag_ui])


@each
def test_the_senders_own_run_makes_way(cast: Cast, send: Any) -> None:
    first, second = send(cast.alice, 1), send(cast.alice, 2)
    first.refresh_from_db()
    assert (first.status, second.status) == (Status.CANCELLED, Status.QUEUED)


@each
def test_another_persons_run_does_not(cast: Cast, send: Any) -> None:
    first = send(cast.bob, 1)
    with pytest.raises(ThreadBusy):
        send(cast.alice, 2)
    first.refresh_from_db()
    assert first.status == Status.QUEUED


@each
@pytest.mark.parametrize("policy", ["reject", "enqueue"])
def test_an_agent_may_have_it_otherwise(cast: Cast, send: Any, policy: str) -> None:
    agent = cast.echo
    agent.on_busy_chat = policy
    agent.save()
    first = send(cast.alice, 1)
    if policy == "reject":
        with pytest.raises(ThreadBusy):
            send(cast.alice, 2)
    else:
        assert send(cast.alice, 2).status == Status.QUEUED
    first.refresh_from_db()
    assert first.status == Status.QUEUED


@pytest.mark.parametrize("send", [ai_sdk, ag_ui])
def test_a_request_may_say_so_itself(cast: Cast, send: Any) -> None:
    send(cast.alice, 1)
    with pytest.raises(ThreadBusy):
        send(cast.alice, 2, forwardedProps={"onBusy": "reject"})


def test_in_ag_ui_only_a_new_message_is_a_turn(cast: Cast) -> None:
    """A tab that repeats its message, or sends a tool's result, ends no run."""
    first = ag_ui(cast.alice, 1)
    result = {"id": "r", "role": "tool", "toolCallId": "c", "content": "5"}
    repeated: list[dict[str, Any]] = [{}, {"messages": []}, {"messages": [result]}]
    for more in repeated:
        with pytest.raises(ThreadBusy):
            ag_ui(cast.alice, 1, **more)
    first.refresh_from_db()
    assert first.status == Status.QUEUED


async def test_by_the_address_of_an_agent(cast: Cast) -> None:
    """``/agui/agent/SLUG/run`` is where chats go; ``/agui`` leaves it to the agent's setting."""

    def body(number: int) -> dict[str, Any]:
        message = {"id": f"u{number}", "role": "user", "content": "x"}
        return {"threadId": "t", "agentId": "echo", "messages": [message]}

    address, headers = "/agui/agent/echo/run", cast.alice.headers
    async with Exchange("POST", address, headers, json=body(1)) as exchange:
        assert exchange.status == 200
        first = await db(Run.objects.get)
    refused = await ask("POST", "/agui", headers, json=body(2))
    assert (refused.status, refused.code) == (409, "thread_busy")
    async with Exchange("POST", address, headers, json=body(3)) as exchange:
        assert exchange.status == 200
    await db(first.refresh_from_db)
    assert first.status == Status.CANCELLED
