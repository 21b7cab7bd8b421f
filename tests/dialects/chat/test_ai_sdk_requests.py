"""What the chat's addresses refuse, and that a refusal writes nothing."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from runs.models import Run, Thread
from tests.asgi import ask, ask_now
from tests.cast import Cast, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = "/api/chat/echo"
HI = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Hi."}]}


def tool(**part: Any) -> dict[str, Any]:
    return {
        "id": "a",
        "role": "assistant",
        "parts": [{"type": "tool-x", "toolCallId": "c", **part}],
    }


FILE = {"type": "file", "mediaType": "a/b"}
ANSWER = tool(state="approval-responded", approval={"id": "q", "approved": True})
OUTPUT = tool(state="output-available", output=1)
MALFORMED: list[Any] = [
    None,
    [],
    {},
    {"id": 7, "messages": [HI]},
    {"id": "", "messages": [HI]},
    {"id": "t" * 256, "messages": [HI]},
    {"id": "t"},
    {"id": "t", "messages": []},
    {"id": "t", "messages": "Hi."},
    {"id": "t", "messages": ["Hi."]},
    {"id": "t", "messages": [{**HI, "id": None}]},
    {"id": "t", "messages": [{**HI, "role": "tool"}]},
    {"id": "t", "messages": [{**HI, "parts": {}}]},
    {"id": "t", "messages": [{**HI, "parts": [{"type": "text"}]}]},
    {"id": "t", "messages": [{**HI, "parts": [{"type": "file", "url": "x"}]}]},
    {"id": "t", "messages": [{**HI, "parts": [{**FILE, "url": "data:,"}]}]},
    {"id": "t", "messages": [HI], "trigger": "resume-stream"},
    {"id": "t", "messages": [HI], "messageId": "x"},
    {"id": "t", "messages": [HI], "tools": 7},
    {"id": "t", "messages": [HI], "tools": [{"name": 7}]},
    {"id": "t", "messages": [HI, {"id": "a", "role": "assistant", "parts": []}]},
    {"id": "t", "messages": [HI, tool(toolCallId=7)]},
    {"id": "t", "messages": [HI, tool(approval="yes")]},
    {"id": "t", "messages": [HI, tool(approval={"id": "q"}, state="approval-responded")]},
    {"id": "t", "messages": [HI, OUTPUT]},
    {"id": "t", "messages": [HI, ANSWER]},
]  # fmt: skip


def test_a_malformed_body_writes_nothing(cast: Cast) -> None:
    for body in MALFORMED:
        answer = ask_now("POST", CHAT, cast.alice.headers, json=body)
        assert answer.status in (400, 422), (body, answer.body)
        assert answer.code in ("bad_request", "bad_json", "invalid"), body
    assert ask_now("POST", CHAT, cast.alice.headers, body=b"{").status == 400
    assert (
        ask_now("POST", CHAT, cast.vera.headers, json={"id": "t", "messages": [HI]}).status == 403
    )
    assert not Run.objects.exists()
    assert not Thread.objects.exists()


async def test_a_result_or_an_answer_that_nothing_waits_for(cast: Cast, writer: Any) -> None:
    run = await db(
        lambda: start(cast.alice, threadId="t", messages=[{"role": "user", "content": "x"}])
    )
    await perform(run, writer)
    before = await db(Run.objects.count)
    for message in (OUTPUT, ANSWER):
        refusal = await ask(
            "POST", CHAT, cast.alice.headers, json={"id": "t", "messages": [HI, message]}
        )
        assert (refusal.status, refusal.code) == (422, "invalid")
    assert await db(Run.objects.count) == before


def test_a_private_thread_and_another_teams_chat(cast: Cast) -> None:
    Thread.objects.create(
        team=cast.team, thread_id="t", created_by="alice", visibility="private",
        creator=cast.alice.principal.actor_id,
    )  # fmt: skip
    start(cast.alice, threadId="t", messages=[{"role": "user", "content": "secret"}])
    for other in (cast.bob, cast.charlie):
        assert ask_now("GET", f"{CHAT}/t", other.headers).json == []
        assert ask_now("GET", f"{CHAT}/t/stream", other.headers).status == 204
        stopped = ask_now("POST", f"{CHAT}/t/stop", other.headers)
        assert (stopped.status, stopped.json) == (202, {"stopped": False})
    assert ask_now("GET", f"{CHAT}/t", cast.alice.cookie).json[0]["parts"][0]["text"] == "secret"
    refusal = ask_now("POST", CHAT, cast.bob.headers, json={"id": "t", "messages": [HI]})
    assert refusal.status == 404
    for url in ("/api/chat/nobody/t", "/api/chat/nobody/t/stream"):
        assert ask_now("GET", url, cast.alice.headers).code == "unknown_agent"
