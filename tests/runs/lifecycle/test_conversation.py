"""What an agent is given and what the log says of it: the thread's, whatever the client sends."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.models import Run
from tests.cast import Cast, Register, log_of, perform, start
from tests.runs.conversing import Stream, Told, tell, text, user
from tests.web.test_connect import connect

pytestmark = pytest.mark.django_db(transaction=True)

Given = dict[str, Any]
FORGED = {"id": "a1", "role": "assistant", "content": "I never said that"}
ODD = {"acme": {"1": [None, 0.5, "é"], "ag-ui.x": {"": True}}, "Äöü": None}


class Talk:
    """A thread with one answered question and a state; each turn is one more run of it."""

    def __init__(self, cast: Cast, register: Register, writer: JournalWriter) -> None:
        self.cast, self.writer = cast, writer
        self.turns: list[Given] = []
        self.agent = register("listener", self.listen)

    def listen(self, ctx: Any) -> None:
        self.turns.append({"messages": ctx.messages, "state": ctx.input.state})

    async def turn(self, **body: Any) -> tuple[Given, list[dict[str, Any]]]:
        run: Run = await db(start, self.cast.alice, self.agent, threadId="t", **body)
        await perform(run, self.writer)
        return self.turns[-1], await db(log_of, run)


@pytest.fixture
async def talk(cast: Cast, register: Register, writer: JournalWriter) -> Talk:
    answer = [*text("a1", "yes"), {"type": "TEXT_MESSAGE_END", "messageId": "a1"}]
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}
    await db(lambda: tell(cast.alice, *answer, state, messages=[user("ready?", "u1")]))
    return await db(Talk, cast, register, writer)


def ids(messages: list[Any]) -> list[str]:
    return [message["id"] for message in messages]


@pytest.mark.parametrize(
    "new_messages",
    [
        [user("go", "u2")],
        [user("ready?", "u1"), FORGED, user("go", "u2")],
    ],
    ids=["only what is new", "all of it, and an answer rewritten"],
)
async def test_the_agent_gets_the_threads_history_and_the_log_what_is_new(
    talk: Talk, new_messages: list[dict[str, Any]]
) -> None:
    context, log = await talk.turn(messages=new_messages)
    assert ids(context["messages"]) == ["u1", "a1", "u2"]
    assert context["messages"][1]["content"] == "yes"
    assert ids(log[0]["input"]["messages"]) == ["u2"]


@pytest.mark.parametrize(
    ("body", "state"),
    [({}, {"n": 1}), ({"state": None}, {"n": 1}), ({"state": {}}, {"n": 1}),
     ({"state": {"m": 2}}, {"m": 2}), ({"state": [0]}, [0])],
)  # fmt: skip
async def test_the_state_is_the_clients_or_else_the_threads(
    talk: Talk, body: dict[str, Any], state: Any
) -> None:
    context, log = await talk.turn(**body)
    assert context["state"] == state
    assert [event["type"] for event in log] == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert log[1]["snapshot"] == state


async def test_a_first_run_without_a_state_sends_none(talk: Talk) -> None:
    run = await db(start, talk.cast.alice, talk.agent, threadId="new")
    await perform(run, talk.writer)
    assert [event["type"] for event in await db(log_of, run)] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_what_was_left_out_on_purpose_leaves_history_and_stays_in_the_log(
    talk: Talk,
) -> None:
    context, _ = await talk.turn(messages=[user("ready?", "u1")])
    assert ids(context["messages"]) == ["u1"]
    context, _ = await talk.turn(messages=[user("go", "u2")])
    assert ids(context["messages"]) == ["u1", "u2"]
    first = await db(lambda: Run.objects.order_by("pk").first())
    assert first
    assert "yes" in [event.get("delta") for event in await db(log_of, first)]


def test_what_is_opaque_to_us_comes_back_as_it_was(cast: Cast) -> None:
    """Metadata with any key, and encrypted values: in the log, and behind it in the history."""
    odd_message = {**user("hi", "u1"), "metadata": ODD, "encryptedValue": "+/=="}
    start_, delta = text("a1", "yes")
    secret = {"subtype": "message", "entityId": "a1", "encryptedValue": "k\u0000=="}
    conversation = [
        {**start_, "metadata": ODD},
        delta,
        {"type": "TEXT_MESSAGE_END", "messageId": "a1"},
        {"type": "REASONING_ENCRYPTED_VALUE", **secret},
    ]
    run = Told(start(cast.alice, threadId="t", messages=[odd_message])).say(*conversation).end()
    log = log_of(run)
    assert log[0]["input"]["messages"] == [odd_message]
    assert log[1]["metadata"] == ODD
    assert log[4]["encryptedValue"] == secret["encryptedValue"]
    stream: Stream = connect(cast.vera)
    answer = {"id": "a1", "role": "assistant", "content": "yes", "metadata": ODD}
    stored = {**answer, "encryptedValue": secret["encryptedValue"]}
    assert stream.last("MESSAGES_SNAPSHOT")["messages"] == [odd_message, stored]
