"""LangChain's approval, answered in every dialect: a yes, and a no with its reason."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agui_host.backends.postgres.bridge import db
from agui_host.dialects import chats
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.models import Agent
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast
from tests.dialects.test_repeated_starts import FORMATS, a2a, mcp, started
from tests.protocol.questions.shapes import AG2, ONE, Wire, langchain
from tests.runs.asking import interrupted

pytestmark = pytest.mark.django_db(transaction=True)

REASON = "too much"
NAMES = ["a2a", "mcp", "mcp-update", "ai-sdk", "responses", "responses-alone", "agui"]


def body_of(name: str, run: Run, approved: bool) -> Wire:
    """A decision as clients of that dialect send it."""
    task, reason = str(run.pk), {} if approved else {"reason": REASON}
    decision = {"approved": approved, **reason}
    response = {"q": {"action": "accept", "content": decision}}
    part = {"type": "dynamic-tool", "toolCallId": "c", "state": "approval-responded"}
    item = {"type": "mcp_approval_response", "approval_request_id": "q", "approve": approved}
    alone = {"model": "echo", "input": [{**item, **reason}], "background": True}
    entry = {"interruptId": "q", "status": "resolved", "payload": decision}
    parts = [{**part, "approval": {"id": "q", **decision}}]
    message = {"id": task, "role": "assistant", "parts": parts}
    bodies: dict[str, Wire] = {
        "a2a": a2a("", taskId=task, parts=[{"data": decision}]),
        "mcp": mcp("", name="echo", requestState=task, inputResponses=response),
        "mcp-update": mcp("", "tasks/update", taskId=task, inputResponses=response),
        "ai-sdk": {"id": "t", "messages": [message]},
        "responses": {**alone, "previous_response_id": f"resp_{run.pk.hex}"},
        "responses-alone": alone,
        "agui": {"threadId": "t", "resume": [entry]},
    }
    return bodies[name]


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("name", NAMES)
async def test_a_decision_in_every_dialect(
    cast: Cast, bell: None, name: str, approved: bool
) -> None:
    await db(Agent.objects.filter(slug="echo").update, is_tool=True)
    run = await db(interrupted, cast.bob, langchain(ONE))
    url = FORMATS[{"mcp-update": "mcp", "responses-alone": "responses"}.get(name, name)].url
    assert await started(url, cast.bob.headers, body_of(name, run, approved)) == 200
    answering = await db(lambda: Run.objects.exclude(pk=run.pk).get())
    assert answering.thread_id == run.thread_id
    (entry,) = json.loads(answering.input)["resume"]
    kind = {"type": "approve"} if approved else {"type": "reject", "message": REASON}
    assert entry["payload"] == {"decisions": [kind]}


@pytest.mark.parametrize(
    ("interrupt", "text", "payload"),
    [
        (langchain(ONE), "Yes.", {"decisions": [{"type": "approve"}]}),
        (langchain(ONE), "reject", {"decisions": [{"type": "reject"}]}),
        (AG2, "yes", True),
        (AG2, "always", "always"),
    ],
    ids=str,
)
async def test_a_word_is_a_decision_in_a2a(
    cast: Cast, bell: None, interrupt: Wire, text: str, payload: Any
) -> None:
    run = await db(interrupted, cast.bob, interrupt)
    body = a2a(text, taskId=str(run.pk))
    assert await started("/a2a/echo/message:send", cast.bob.headers, body) == 200
    answering = await db(lambda: Run.objects.exclude(pk=run.pk).get())
    assert json.loads(answering.input)["resume"][0]["payload"] == payload


async def test_a_question_of_another_team_is_no_home(cast: Cast, bell: None) -> None:
    run = await db(interrupted, cast.bob, langchain(ONE))
    body = body_of("responses-alone", run, approved=True)
    answer = await ask("POST", "/v1/responses", cast.charlie.headers, json=body)
    assert answer.status == 422, answer.body
    assert await db(Run.objects.count) == 1


def test_many_answers_are_looked_up_at_once(cast: Cast) -> None:
    interrupted(cast.bob, langchain(ONE))

    def queries(number: int) -> int:
        names = ["q", *("unknown" for _ in range(number))]
        answers = [{"interruptId": n, "status": "resolved", "payload": True} for n in names]
        data = {"threadId": "t", "messages": [], "resume": [*answers[:1] * number, *answers]}
        with CaptureQueriesContext(connection) as captured, pytest.raises(Invalid):
            chats.begin(cast.bob.principal, data, agent="echo", key=None, digest="d")
        return len(captured)

    queries(1)  # What a first request reads is remembered.
    assert queries(1) == queries(9)


async def test_two_threads_with_one_question_are_no_home(cast: Cast, bell: None) -> None:
    run = await db(interrupted, cast.bob, langchain(ONE))
    await db(lambda: interrupted(cast.bob, langchain(ONE), thread="other"))
    body = body_of("responses-alone", run, approved=True)
    answer = await ask("POST", "/v1/responses", cast.bob.headers, json=body)
    assert answer.status == 422, answer.body
    assert await db(Run.objects.count) == 2


@pytest.mark.parametrize("unknown", ["z", "\0", "q\0"])
def test_one_query_finds_all_questions(cast: Cast, bell: None, unknown: str) -> None:
    run = interrupted(cast.bob, langchain(ONE))
    entry = {"interruptId": "q", "status": "resolved", "payload": {"approved": True}}

    def queries(answers: int) -> int:
        resume = [entry] * answers + [{**entry, "interruptId": unknown}]
        data = {"threadId": "t", "messages": [], "resume": resume}
        with CaptureQueriesContext(connection) as context:  # noqa: SIM117
            with pytest.raises(Invalid, match="has no question"):
                chats.begin(cast.bob.principal, data, agent="echo", key=None, digest="")
        return len(context)

    queries(1)  # The first of a connection prepares it.
    assert queries(50) == queries(1)
    assert Run.objects.get() == run
