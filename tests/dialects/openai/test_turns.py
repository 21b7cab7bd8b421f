"""A chat's messages beside those of a thread: what is the same, and what a request changes."""

from typing import Any

import pytest

from agui_host.dialects.openai.turns import Request, continued, digests, is_same, is_task

Json = dict[str, Any]


def m(role: str, content: Any, **more: Any) -> Json:
    return {"id": f"{role}-{content}", "role": role, "content": content, **more}


CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
HOLDS = [
    m("user", "U"),
    m("reasoning", "hm"),
    m("assistant", "A", toolCalls=[CALL]),
    m("tool", "found", toolCallId="c"),
    m("assistant", "B"),
    m("activity", {}),
]
SEEN = [m("user", "U"), m("assistant", "A\n\nB ")]


def test_an_answer_is_its_texts_without_the_agents_tools() -> None:
    assert is_same(HOLDS, SEEN)
    assert not is_same(HOLDS, [*SEEN[:1], m("assistant", "A")])
    assert not is_same(HOLDS, SEEN[:1])


def test_calls_of_the_clients_own_tools_count() -> None:
    asks = [m("user", "U"), m("assistant", "", toolCalls=[CALL]), m("tool", "1", toolCallId="c")]
    assert is_same(asks, asks)
    assert not is_same(asks, [*asks[:2], m("tool", "2", toolCallId="c")])


def test_a_digest_leads_from_the_next_request_to_this_one() -> None:
    first = digests([m("user", "U")])
    assert first.earlier is None
    assert digests([*SEEN, m("user", "V")]).earlier == first.own
    assert digests([m("user", "V"), *SEEN[1:]]).earlier != first.own


@pytest.mark.parametrize(
    ("messages", "result"),
    [
        ([*SEEN, m("user", "V")], None),
        ([m("user", "V")], None),
        ([m("assistant", "A\n\nB"), m("user", "V")], None),
        ([m("user", "U")], []),
        ([m("assistant", "")], None),  # nothing that could replace what the thread holds
        ([m("user", "U2"), SEEN[1], m("user", "V")], [m("user", "U2"), *HOLDS[1:]]),
    ],
)
def test_what_a_named_thread_has_to_hold(messages: list[Json], result: list[Json] | None) -> None:
    assert continued(HOLDS, Request.of(messages)) == result


def test_many_messages_take_linear_time() -> None:
    """Of 20,000 each: pair by pair they would take minutes, on a thread of all teams."""
    many = 20_000
    one_answer = [m("assistant", f"{n} " + "x" * 50) for n in range(many)]
    assert is_same(one_answer, one_answer)
    thread = [
        m("user", "a"),
        *(m(role, "b") for _ in range(many) for role in ("assistant", "user")),
    ]
    other = [m(role, f"c {n}") for n in range(many) for role in ("user", "assistant")]
    assert continued(thread, Request.of(other)) == other


def test_an_edit_retains_what_is_the_same_in_order() -> None:
    thread = [m("user", "U"), m("assistant", "A"), m("user", "U"), m("assistant", "B, and more")]
    edit = [m("user", "V"), m("assistant", "A"), m("user", "U"), m("assistant", "B")]
    assert continued(thread, Request.of(edit)) == [edit[0], *thread[1:]]


@pytest.mark.parametrize(
    ("messages", "is_one"),
    [
        ([m("user", "### Task:\nGenerate a title")], True),
        ([m("system", "x"), m("user", "### Task:\nGenerate tags")], True),
        ([m("user", "What is a task?")], False),
        ([*SEEN, m("user", "### Task:\nDo it")], False),
        ([m("user", [{"type": "text", "text": "### Task:"}])], False),
    ],
)
def test_what_a_user_interface_asks_for_itself(messages: list[Json], is_one: bool) -> None:
    assert is_task(messages) is is_one
