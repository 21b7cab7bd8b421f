"""Another answer, and an edited message, in a chat of the AI SDK: only what was asked for goes."""

from typing import Any

import pytest

from agui_host.backends import work
from agui_host.backends.postgres.bridge import db
from agui_host.dialects.ai_sdk import request, ui_messages
from agui_host.dialects.ai_sdk import verbs as chat_starts
from agui_host.runtimes.models import Agent
from runs.lifecycle import history
from runs.models import Run, Thread
from tests.asgi import ask
from tests.cast import Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = "/api/chat/says"
Json = dict[str, Any]


def user(text: str, name: str) -> Json:
    return {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}


@pytest.fixture(autouse=True)
def says(register: Register) -> None:
    register("says", lambda ctx: ctx.forwarded_props["say"])


async def send(cast: Cast, writer: Any, text: str, **body: Any) -> None:
    """A request of the chat, answered with that text."""
    run = await db(_begin, cast, {"id": "t", "forwardedProps": {"say": text}, **body})
    await perform(run, writer)


def _begin(cast: Cast, body: Json) -> Run:
    message = request.read(body)
    return chat_starts.begin(
        cast.alice.principal, message, agent="says", key=None, digest=message.digest
    ).run


async def page(cast: Cast) -> list[Json]:
    messages: list[Json] = await db(ui_messages.of_thread, cast.alice.principal, "t")
    return messages


def texts(messages: list[Json]) -> list[str]:
    return ["".join(part.get("text", "") for part in each["parts"]) for each in messages]


async def contents(cast: Cast) -> list[str]:
    thread = await db(lambda: Thread.objects.for_team(cast.team).get(thread_id="t"))
    return [each["content"] for each in (await db(history.current, thread.pk)).messages]


@pytest.fixture
async def two_answers(cast: Cast, writer: Any) -> list[Json]:
    """The chat of a user's message and two answers to it: U, A, B."""
    await send(cast, writer, "A", messages=[user("U", "u")])
    agent = await db(lambda: Agent.objects.get(slug="says"))
    props = {"say": "B"}
    run = await db(
        lambda: start(cast.alice, agent, threadId="t", messages=[], forwardedProps=props)
    )
    await perform(run, writer)
    messages = await page(cast)
    assert texts(messages) == ["U", "A", "B"]
    return messages


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("trimmed", [True, False])
async def test_the_second_answer_alone_is_replaced(
    cast: Cast, writer: Any, two_answers: list[Json], named: bool, trimmed: bool
) -> None:
    named_by = {"messageId": two_answers[2]["id"]} if named else {}
    messages = two_answers[1:2] if trimmed else two_answers[:2]
    await send(cast, writer, "B2", trigger="regenerate-message", messages=messages, **named_by)
    assert texts(await page(cast)) == ["U", "A", "B2"]
    assert await contents(cast) == ["U", "A", "B2"]


async def test_the_first_answer_goes_with_what_follows_it(
    cast: Cast, writer: Any, two_answers: list[Json]
) -> None:
    first = two_answers[1]["id"]
    await send(
        cast, writer, "A2", trigger="regenerate-message", messages=two_answers[:1], messageId=first
    )
    assert texts(await page(cast)) == ["U", "A2"]
    assert await contents(cast) == ["U", "A2"]


async def test_a_team_that_owes_work_waits(cast: Cast, two_answers: list[Json]) -> None:
    body = {"id": "t", "trigger": "regenerate-message", "messages": two_answers[:2]}
    work.charge(cast.team.pk, "fold", 10 * work.SHARE)
    answer = await ask("POST", CHAT, cast.alice.headers, json=body)
    assert (answer.status, answer.json["error"]["details"]["limit"]) == (429, "work")


async def test_an_edited_message_replaces_itself_and_what_follows(cast: Cast, writer: Any) -> None:
    await send(cast, writer, "A", messages=[user("U", "u")])
    await send(cast, writer, "A2", messages=[*await page(cast), user("U2", "u2")])
    before = (await page(cast))[:2]
    edited = user("U3", "u2")
    await send(cast, writer, "A3", messages=[*before, edited], messageId="u2")
    assert texts(await page(cast)) == ["U", "A", "U3", "A3"]
    assert await contents(cast) == ["U", "A", "U3", "A3"]
    # The page's next request brings the edited message once more.
    await send(cast, writer, "A4", messages=[*await page(cast), user("U4", "u4")])
    assert await contents(cast) == ["U", "A", "U3", "A3", "U4", "A4"]
    # And the very first one can be edited.
    await send(cast, writer, "A5", messages=[user("U5", "u")], messageId="u")
    assert texts(await page(cast)) == ["U5", "A5"]
    assert await contents(cast) == ["U5", "A5"]


async def test_a_message_that_was_never_sent_is_no_edit(cast: Cast, writer: Any) -> None:
    await send(cast, writer, "A", messages=[user("U", "u")])
    await send(cast, writer, "A2", messages=[user("U2", "u2")], messageId="u2")
    assert await contents(cast) == ["U", "A", "U2", "A2"]
    refusal = await ask(
        "POST", CHAT, cast.alice.headers,
        json={"id": "t", "messages": [user("U3", "u3")], "messageId": "u2"},
    )  # fmt: skip
    assert (refusal.status, refusal.json["error"]["details"]) == (422, {"path": "messageId"})
