"""Chat Completions in threads: by name, or by exactly what was said before."""

import json
from typing import Any

import pytest
from django.conf import LazySettings

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.openai import completions
from agui_host.dialects.openai.request import read_chat, thread_named
from runs.lifecycle import history
from runs.models import Run, Thread, Visibility
from tests.asgi import ask
from tests.cast import Actor, Cast, Register, perform

pytestmark = pytest.mark.django_db(transaction=True)

Json = dict[str, Any]


def message(role: str, text: str) -> Json:
    return {"role": role, "content": text}


class Chat:
    """A client that sends its whole history, as most do."""

    def __init__(self, actor: Actor, writer: Any, inputs: list[list[Json]]) -> None:
        self._actor, self._writer, self._given = actor, writer, inputs
        self.messages: list[Json] = []
        self.threads: list[str] = []

    async def turn(self, text: str, name: str | None = None, **body: Any) -> list[str]:
        """Say something; what the agent is inputs, in short."""
        self.messages.append(message("user", text))
        return await self.again(name, **body)

    async def again(self, name: str | None = None, **body: Any) -> list[str]:
        """Send the messages as they are."""
        request = read_chat({"model": "sees", "messages": self.messages, **body}, name)
        run = await db(completions.begin, self._actor.principal, request, None)
        ended = await perform(run, self._writer)
        self.threads.append(ended.thread.thread_id)
        answer = json.loads(ended.result or "null")
        self.messages.append(message("assistant", answer))
        return [f"{m['role'][0]}:{m['content']}" for m in self._given[-1]]


@pytest.fixture
async def inputs(register: Register) -> list[list[Json]]:
    """What the agent ``sees`` was inputs, run by run."""
    runs: list[list[Json]] = []

    async def sees(ctx: Any) -> Any:
        runs.append(list(ctx.messages))
        answer = f"re {ctx.text}"
        ctx.result = answer
        yield answer

    await db(register, "sees", sees)
    return runs


@pytest.fixture
def chat(cast: Cast, writer: Any, inputs: list[list[Json]]) -> Chat:
    return Chat(cast.alice, writer, inputs)


async def test_a_history_alone_is_recognised(chat: Chat) -> None:
    assert await chat.turn("one") == ["u:one"]
    assert await chat.turn("two") == ["u:one", "a:re one", "u:two"]
    assert await chat.turn("three") == ["u:one", "a:re one", "u:two", "a:re two", "u:three"]
    assert len(set(chat.threads)) == 1


async def test_a_history_in_parts_is_recognised(chat: Chat) -> None:
    """LibreChat sends each message as a list of parts, and names no thread by default."""
    for words in ("one", "two", "three"):
        chat.messages = [
            each if isinstance(each["content"], list) else each | {"content": [text(each)]}
            for each in chat.messages
        ]
        chat.messages.append({"role": "user", "content": [{"type": "text", "text": words}]})
        await chat.again()
    assert len(set(chat.threads)) == 1


def text(each: Json) -> Json:
    return {"type": "text", "text": each["content"]}


async def test_a_history_that_differs_is_another_thread(
    chat: Chat, cast: Cast, writer: Any, inputs: list[list[Json]]
) -> None:
    await chat.turn("one")
    for other, messages in (
        (cast.alice, [message("user", "one"), message("assistant", "re one, changed")]),
        (cast.alice, [message("system", "be brief"), *chat.messages]),
        (cast.bob, chat.messages),
    ):
        stranger = Chat(other, writer, inputs)
        stranger.messages = [*messages]
        expected = [f"{m['role'][0]}:{m['content']}" for m in messages]
        assert await stranger.turn("two") == [*expected, "u:two"]
        assert stranger.threads[0] != chat.threads[0]
    await chat.turn("two")
    assert len(set(chat.threads)) == 1
    late = Chat(cast.alice, writer, inputs)
    late.messages = chat.messages[:2]  # an old copy: the thread holds more by now
    assert await late.turn("other") == ["u:one", "a:re one", "u:other"]
    assert late.threads[0] != chat.threads[0]


async def test_of_two_chats_that_began_alike_each_has_its_thread(
    chat: Chat, cast: Cast, writer: Any, inputs: list[list[Json]]
) -> None:
    await chat.turn("hi")
    second = Chat(cast.alice, writer, inputs)
    await second.turn("hi")
    assert second.threads != chat.threads
    await chat.turn("one")
    await second.turn("two")
    assert await chat.turn("more") == ["u:hi", "a:re hi", "u:one", "a:re one", "u:more"]
    assert len({*chat.threads, *second.threads}) == 2


@pytest.mark.parametrize(
    "naming",
    [{"name": "chat-1"}, {"conversation": "chat-1"}, {"metadata": {"thread_id": "chat-1"}}],
)
async def test_a_name_begins_and_continues_a_thread(chat: Chat, naming: Json) -> None:
    for number in range(4):
        await chat.turn(f"say {number}", **naming)
    assert set(chat.threads) == {"chat-1"}
    inputs = await chat.turn("last", **naming)
    assert inputs == [f"{m['role'][0]}:{m['content']}" for m in chat.messages[:-1]]


async def test_a_client_that_sends_the_new_message_alone(chat: Chat) -> None:
    await chat.turn("one", "t")
    chat.messages = [message("system", "be brief")]
    assert await chat.turn("two", "t") == ["u:one", "a:re one", "s:be brief", "u:two"]
    chat.messages = [message("system", "be brief")]
    inputs = await chat.turn("three", "t")
    assert inputs[2:] == ["s:be brief", "u:two", "a:re two", "u:three"]


async def test_another_answer_and_an_edited_message(chat: Chat, cast: Cast) -> None:
    await chat.turn("one", "t")
    await chat.turn("two", "t")
    chat.messages = chat.messages[:3]  # another answer to the second
    assert await chat.again("t") == ["u:one", "a:re one", "u:two"]
    chat.messages = [*chat.messages[:2], message("user", "2")]
    assert await chat.again("t") == ["u:one", "a:re one", "u:2"]
    chat.messages[1] = message("assistant", "no, one")  # the page edits an answer
    assert await chat.turn("three", "t") == ["u:one", "a:no, one", "u:2", "a:re 2", "u:three"]
    chat.messages = [message("user", "one")]
    assert await chat.again("t") == ["u:one"]
    thread = await db(Thread.objects.get)
    now = await db(history.current, thread.pk)
    assert [each["content"] for each in now.messages] == ["one", "re one"]


async def test_a_request_for_an_unknown_agent_changes_nothing(chat: Chat, cast: Cast) -> None:
    await chat.turn("one", "t")
    await chat.turn("two", "t")
    body = {"model": "nothing", "messages": chat.messages[:1]}
    headers = {**cast.alice.headers, "x-thread-id": "t"}
    answer = await ask("POST", "/v1/chat/completions", headers, json=body)
    assert answer.status == 404
    thread = await db(Thread.objects.get)
    stored = (await db(history.current, thread.pk)).messages
    assert [each["content"] for each in stored] == ["one", "re one", "two", "re two"]


async def test_an_answer_that_was_stopped_is_the_same(chat: Chat) -> None:
    await chat.turn("one", "t")
    chat.messages[1] = message("assistant", "re")
    assert await chat.turn("two", "t") == ["u:one", "a:re one", "u:two"]


async def test_a_conversation_with_items_is_continued(chat: Chat, cast: Cast) -> None:
    body = {"items": [message("user", "my name is Ada")]}
    made = await ask("POST", "/v1/conversations", cast.alice.headers, json=body)
    assert await chat.turn("who am I?", conversation=made.json["id"]) == [
        "u:my name is Ada",
        "u:who am I?",
    ]


async def test_an_answers_id_is_known(chat: Chat, cast: Cast) -> None:
    await chat.turn("one")
    run = await db(Run.objects.get)
    chat.messages[1]["id"] = f"chatcmpl-{run.pk.hex}"
    await chat.turn("two")
    assert len(set(chat.threads)) == 1


async def test_another_persons_private_thread_is_no_name_for_me(chat: Chat, cast: Cast) -> None:
    await db(
        lambda: Thread.objects.create(
            team=cast.team, thread_id="hers", visibility=Visibility.PRIVATE,
            creator=cast.bob.principal.actor_id,
        )
    )  # fmt: skip
    body = {"model": "echo", "messages": [message("user", "x")]}
    headers = {**cast.alice.headers, "x-thread-id": "hers"}
    answer = await ask("POST", "/v1/chat/completions", headers, json=body)
    assert answer.status == 404


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"x-thread-id": "a", "x-openwebui-chat-id": "b"}, "a"),
        ({"x-openwebui-chat-id": "b"}, "b"),
        ({"x-librechat-conversation-id": "c"}, "c"),
        ({"x-librechat-conversation-id": "{{LIBRECHAT_BODY_CONVERSATIONID}}"}, None),
        ({"x-librechat-conversation-id": "new"}, None),
        ({"x-thread-id": " "}, None),
    ],
)
def test_headers_name_a_thread(headers: dict[str, str], name: str | None) -> None:
    assert thread_named(headers) == name


TITLE = "### Task:\nGenerate a concise title.\n<chat_history>…</chat_history>"
LIBRECHATS = (
    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions."
    " Only return the title itself.\n\nConversation:\nUser: one\nAI: re one",
    "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A"
    " concise title in the detected language (5 words or less, no punctuation or quotation)\n\n"
    "User: one\nAI: re one",
)
"""As ``@librechat/agents`` sends them."""


@pytest.mark.parametrize("title", LIBRECHATS)
async def test_a_title_of_librechat_is_no_turn_of_the_chat(
    chat: Chat, cast: Cast, title: str
) -> None:
    await chat.turn("one", "t")
    request = read_chat({"model": "sees", "messages": [message("user", title)]}, "t")
    run = await db(completions.begin, cast.alice.principal, request, None)
    assert run.thread.thread_id != "t"
    assert await chat.turn("two", "t") == ["u:one", "a:re one", "u:two"]


@pytest.mark.parametrize("setting", ["", "sees", "refuse"])
async def test_a_title_is_no_turn_of_the_chat(
    chat: Chat, cast: Cast, settings: LazySettings, setting: str
) -> None:
    settings.AGUI_CHAT_TASKS = setting
    await chat.turn("one", "t")
    request = read_chat({"model": "echo", "messages": [message("user", TITLE)]}, "t")
    if setting == "refuse":
        headers = {**cast.alice.headers, "x-thread-id": "t"}
        body = {"model": "echo", "messages": [message("user", TITLE)]}
        answer = await ask("POST", "/v1/chat/completions", headers, json=body)
        assert (answer.status, await db(Run.objects.count)) == (422, 1)
        return
    run = await db(completions.begin, cast.alice.principal, request, None)
    assert run.agent.slug == (setting or "echo")
    assert run.thread.thread_id != "t"
