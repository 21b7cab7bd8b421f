"""The same Idempotency-Key and body twice: one run in one thread, in every format that starts runs.

With another body the key is refused, in the shape that the format has for errors.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from runs.models import Run, Thread
from tests.asgi import Answer, Exchange, ask, ask_now
from tests.cast import Cast
from tests.runs.asking import APPROVAL, interrupted, question
from tests.runs.schedules.test_schedules import made

pytestmark = pytest.mark.django_db(transaction=True)

CODE = "idempotency_conflict"
Json = dict[str, Any]


class Format(NamedTuple):
    """Where runs are started, with two bodies; ``code`` reads the code of an error's body."""

    url: str
    body: Json
    other: Json
    code: Callable[[Json], str]
    again: Json = {}
    """What a client may change in the body of a repeated request."""


def ours(body: Json) -> str:
    assert set(body["error"]) == {"code", "message", "details"}
    return str(body["error"]["code"])


def openai(body: Json) -> str:
    assert body["error"]["type"] == "conflict_error"
    return str(body["error"]["code"])


def google(body: Json) -> str:
    assert (body["error"]["code"], body["error"]["status"]) == (409, "ABORTED")
    return str(body["error"]["details"][0]["reason"]).lower()


def rpc(body: Json) -> str:
    assert (body["jsonrpc"], body["error"]["code"]) == ("2.0", -32000)
    return str(body["error"]["data"]["code"])


def chat(text: str) -> Json:
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": "chat", "messages": [message]}


def a2a(text: str, **message: Any) -> Json:
    parts = [{"text": text}]
    return {
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": parts, **message},
        "configuration": {"returnImmediately": True},
    }


def mcp(text: str, method: str = "tools/call", **params: Any) -> Json:
    prefix = "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": "2026-07-28",
        f"{prefix}clientCapabilities": {"extensions": {f"{prefix}tasks": {}}},
    }
    params = params or {"name": "echo", "arguments": {"message": text}}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}


def native(text: str) -> Json:
    return {"messages": [{"role": "user", "content": text}]}


FORMATS = {
    "agui": Format("/agui", native("a"), native("b"), ours),
    "agent": Format("/agui/agent/echo/run", native("a"), native("b"), ours),
    "runs": Format("/api/v1/runs", {"input": native("a")}, {"input": native("b")}, ours),
    "wait": Format("/api/v1/runs?wait=0", {"input": native("a")}, {"input": native("b")}, ours),
    "intelligence": Format("/agui/intelligence/agent/echo/run", native("a"), native("b"), ours),
    "alpine": Format("/agents/run", {"task": "a"}, {"task": "b"}, ours),
    "alpine-flags": Format("/agents/run", {"task": "a"}, {"task": "a", "plan": True}, ours),
    "ai-sdk": Format("/api/chat/echo", chat("a"), chat("b"), ours),
    "responses": Format(
        "/v1/responses",
        {"model": "echo", "input": "a", "background": True},
        {"model": "echo", "input": "b", "background": True},
        openai,
    ),
    "chat-completions": Format(
        "/v1/chat/completions",
        {"model": "echo", "messages": [{"role": "user", "content": "a"}], "stream": True},
        {"model": "echo", "messages": [{"role": "user", "content": "b"}], "stream": True},
        openai,
    ),
    "a2a": Format("/a2a/echo/message:send", a2a("a"), a2a("b"), google),
    "a2a-default-agent": Format("/a2a/message:send", a2a("a"), a2a("b"), google),
    "a2a-stream": Format("/a2a/echo/message:stream", a2a("a"), a2a("b"), google),
    "mcp": Format("/mcp", mcp("a"), mcp("b"), rpc, {"id": 2}),
}


async def started(url: str, headers: Json, body: Json) -> int:
    """The status of a start; of a stream only the head is read."""
    async with Exchange("POST", url, headers, json=body) as exchange:
        return exchange.status


@pytest.mark.parametrize("name", FORMATS)
async def test_a_start_is_repeated(cast: Cast, bell: None, name: str) -> None:
    await db(Agent.objects.filter(slug="echo").update, is_tool=True)
    form = FORMATS[name]
    headers = {**cast.bob.headers, "idempotency-key": "k"}
    assert await started(form.url, headers, form.body) in (200, 202)
    (first,) = await db(lambda: list(Run.objects.select_related("thread")))
    assert await started(form.url, headers, {**form.body, **form.again}) in (200, 202)
    assert await db(lambda: list(Run.objects.all())) == [first]
    assert await db(lambda: list(Thread.objects.all())) == [first.thread]
    refused = await ask("POST", form.url, headers, json=form.other)
    assert (refused.status, form.code(refused.json)) == (409, CODE)
    assert await db(Run.objects.count) == await db(Thread.objects.count) == 1


def test_a_schedule_started_by_hand_is_repeated(cast: Cast) -> None:
    """Its request names the schedule and nothing else, whatever its input says of the time."""
    one, other = (f"/api/v1/schedules/{made(cast)['id']}/run" for _ in range(2))
    headers = {**cast.bob.headers, "idempotency-key": "k"}
    answers = [ask_now("POST", one, headers) for _ in range(2)]
    assert [answer.status for answer in answers] == [202, 202]
    assert answers[0].json["id"] == answers[1].json["id"]
    assert ask_now("POST", other, headers).code == CODE
    assert Run.objects.count() == 1


@pytest.mark.parametrize("name", ["a2a", "mcp", "mcp-update", "ai-sdk", "responses", "agui"])
async def test_an_answer_is_repeated(cast: Cast, bell: None, name: str) -> None:
    """Although the repeated request answers a question that is not open any more."""
    await db(Agent.objects.filter(slug="echo").update, is_tool=True)
    run = await db(interrupted, cast.bob, question("i", responseSchema=APPROVAL))
    task = str(run.pk)
    form = FORMATS["mcp" if name == "mcp-update" else name]

    def body(approved: bool) -> Json:
        response = {"i": {"action": "accept", "content": {"approved": approved}}}
        approval = {"id": "i", "approved": approved}
        part = {"type": "tool-x", "toolCallId": "c", "state": "approval-responded"}
        item = {"type": "mcp_approval_response", "approval_request_id": "i", "approve": approved}
        return {
            "a2a": a2a("", taskId=task, parts=[{"data": {"approved": approved}}]),
            "mcp": mcp("", name="echo", requestState=task, inputResponses=response),
            "mcp-update": mcp("", "tasks/update", taskId=task, inputResponses=response),
            "ai-sdk": {
                "id": "t",
                "messages": [
                    {"id": task, "role": "assistant", "parts": [{**part, "approval": approval}]}
                ],
            },
            "responses": {
                "model": "echo",
                "previous_response_id": f"resp_{run.pk.hex}",
                "input": [item],
                "background": True,
            },
            "agui": {
                "threadId": "t",
                "resume": [
                    {"interruptId": "i", "status": "resolved", "payload": {"approved": approved}}
                ],
            },
        }[name]

    headers = {**cast.bob.headers, "idempotency-key": "k"}
    for _ in range(2):
        assert await started(form.url, headers, body(approved=True)) == 200
    assert await db(Run.objects.exclude(pk=run.pk).count) == 1
    refused = await ask("POST", form.url, headers, json=body(approved=False))
    assert (refused.status, form.code(refused.json)) == (409, CODE)
    assert await db(Run.objects.count) == 2


async def test_a_repeated_task_has_one_push_config(cast: Cast, bell: None) -> None:
    body = a2a("a")
    body["configuration"]["taskPushNotificationConfig"] = {"url": "https://example.com/push"}
    headers = {**cast.bob.headers, "idempotency-key": "k"}
    answers = [await ask("POST", "/a2a/echo/message:send", headers, json=body) for _ in range(2)]
    tasks = {_task(answer) for answer in answers}
    assert len(tasks) == 1
    url = f"/a2a/echo/tasks/{tasks.pop()}/pushNotificationConfigs"
    assert len((await ask("GET", url, cast.bob.headers)).json["configs"]) == 1


def _task(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    return str(answer.json["task"]["id"])


async def test_the_key_of_another_person_does_not_show_a_private_run(
    cast: Cast, bell: None
) -> None:
    headers = {**cast.bob.headers, "idempotency-key": "k"}
    body = FORMATS["responses"].body
    assert await started("/v1/responses", headers, body) == 200
    await db(Thread.objects.update, visibility="private")
    other = {**cast.alice.headers, "idempotency-key": "k"}
    assert (await ask("POST", "/v1/responses", other, json=body)).status == 404
