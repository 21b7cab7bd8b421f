"""A chat's new message, while a run of its thread has not ended."""

from typing import Any

import pytest

from agui_host.dialects.ai_sdk import request as chat_request
from agui_host.dialects.ai_sdk import verbs as chat_starts
from agui_host.dialects.openai import completions
from agui_host.dialects.openai.request import read_chat
from runs.lifecycle.lifecycle import ThreadBusy
from runs.models import Run, Status
from tests.cast import Actor, Cast

pytestmark = pytest.mark.django_db(transaction=True)


def ai_sdk(actor: Actor, number: int, **more: Any) -> Run:
    parts = [{"type": "text", "text": "x"}]
    message = {"id": f"u{number}", "role": "user", "parts": parts}
    request = chat_request.read({"id": "t", "messages": [message], **more})
    return chat_starts.begin(
        actor.principal, request, agent="echo", key=None, digest=request.digest
    ).run


def completion(actor: Actor, number: int, **more: Any) -> Run:
    body = {"model": "echo", "messages": [{"role": "user", "content": f"x{number}"}], **more}
    return completions.begin(actor.principal, read_chat(body, "t"), None)


each = pytest.mark.parametrize("send", [ai_sdk, completion])


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


def test_a_request_may_say_so_itself(cast: Cast) -> None:
    ai_sdk(cast.alice, 1)
    with pytest.raises(ThreadBusy):
        ai_sdk(cast.alice, 2, forwardedProps={"onBusy": "reject"})
