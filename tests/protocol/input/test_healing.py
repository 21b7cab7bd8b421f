"""What an agent is given has each result behind its call, and a result for each call."""

import time
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.input import healing
from agui_host.protocol.input.healing import NOT_EXECUTED

Wire = dict[str, Any]


def user(id: str) -> Wire:
    return {"id": id, "role": "user", "content": id}


def calling(id: str, *calls: str, arguments: str = "{}") -> Wire:
    function = {"name": "f", "arguments": arguments}
    return {
        "id": id,
        "role": "assistant",
        "toolCalls": [{"id": call, "type": "function", "function": function} for call in calls],
    }


def result(call: str, id: str = "") -> Wire:
    return {"id": id or f"of {call}", "role": "tool", "toolCallId": call, "content": "done"}


def missing(call: str) -> Wire:
    id = f"{call}~not-executed"
    return {"id": id, "role": "tool", "toolCallId": call, "content": NOT_EXECUTED}


THOUGHT = {"id": "r", "role": "reasoning", "content": "hm"}
A, B = calling("a", "1"), calling("b", "2")
BOTH = calling("a", "1", "2")
CASES: dict[str, tuple[list[Wire], list[Wire], dict[str, int]]] = {
    # name: (the messages of the thread, what the agent gets, the repairs)
    "nothing to do": (
        [user("u"), BOTH, result("2"), result("1"), user("v")],
        [user("u"), BOTH, result("2"), result("1"), user("v")], {},
    ),
    "a stray result first": ([result("9"), user("u")], [user("u")], {"left_out": 1}),
    "a stray result amid results": (
        [A, result("9"), result("1")], [A, result("1")], {"left_out": 1},
    ),
    "only a stray result": ([result("9")], [], {"left_out": 1}),
    "an open call": ([A, user("u")], [A, missing("1"), user("u")], {"answered": 1}),
    "an open call at the end": ([user("u"), A], [user("u"), A, missing("1")], {"answered": 1}),
    "one of two is open": (
        [BOTH, result("2"), user("u")],
        [BOTH, result("2"), missing("1"), user("u")], {"answered": 1},
    ),
    "a result after the next message": (
        [A, user("u"), result("1")], [A, result("1"), user("u")], {"moved": 1},
    ),
    "a result after a thought": (
        [A, THOUGHT, result("1")], [A, result("1"), THOUGHT], {"moved": 1},
    ),
    "a result before its call": ([result("1"), A], [A, result("1")], {"moved": 1}),
    "results behind two messages": (
        [A, B, result("1"), result("2")], [A, result("1"), B, result("2")], {"moved": 1},
    ),
    "two results": (
        [A, result("1"), user("u"), result("1", "later")],
        [A, result("1", "later"), user("u")], {"left_out": 1, "moved": 1},
    ),
    "a call id that counts from one in each turn": (
        [A, result("1", "x"), user("u"), calling("b", "1"), result("1", "y")],
        [A, result("1", "x"), user("u"), calling("b", "1"), result("1", "y")], {},
    ),
    "the same, the first one cancelled": (
        [A, user("u"), calling("b", "1"), result("1")],
        [A, missing("1"), user("u"), calling("b", "1"), result("1")], {"answered": 1},
    ),
    "two calls with one id in a message": (
        [calling("a", "1", "1"), result("1", "x"), result("1", "y")],
        [calling("a", "1", "1"), result("1", "x"), result("1", "y")], {},
    ),
    "arguments that are missing": (
        [calling("a", "1", arguments=""), result("1")], [A, result("1")], {"completed": 1},
    ),
    "arguments that were cut off": (
        [calling("a", "1", arguments='{"q": "al'), user("u")],
        [calling("a", "1", arguments='{"q": "al"}'), missing("1"), user("u")],
        {"completed": 1, "answered": 1},
    ),
    "no calls in an empty list": (
        [{**A, "toolCalls": []}, user("u")], [{**A, "toolCalls": []}, user("u")], {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_the_agent_gets(case: str) -> None:
    messages, expected, repairs = CASES[case]
    before = deepcopy(messages)
    healed = healing.heal(messages)
    assert healed.messages == expected
    assert healed.repairs == repairs
    assert messages == before, "the stored messages stay as they are"


def test_a_call_that_waits_for_its_answer_stays_open() -> None:
    messages = [A, result("1"), user("u"), calling("c", "3", "4"), result("3")]
    assert healing.heal(messages, {"4"}).messages == messages


def test_the_calls_of_the_last_turn() -> None:
    messages = [A, user("u"), B, THOUGHT, calling("c", "3"), result("3")]
    assert healing.last_calls(messages) == {"2", "3"}
    assert healing.last_calls([*messages, user("v"), user("w")]) == {"2", "3"}
    assert healing.last_calls([user("u")]) == set()


MESSAGES = st.one_of(
    st.just(user("u")),
    st.just(THOUGHT),
    st.builds(result, st.sampled_from("123")),
    st.lists(st.sampled_from("123"), max_size=3).map(lambda calls: calling("a", *calls)),
)


@given(st.lists(MESSAGES, max_size=12))
def test_any_conversation_is_legal_afterwards(messages: list[Wire]) -> None:
    healed = healing.heal(messages).messages
    others = [message for message in messages if message["role"] != "tool"]
    assert [message for message in healed if message["role"] != "tool"] == others
    due: list[str] = []
    for message in healed:
        if message["role"] == "tool":
            due.remove(message["toolCallId"])
            continue
        assert not due, "all results stand directly behind their calls"
        due = [call["id"] for call in message.get("toolCalls", ())]
    assert not due
    again = healing.heal(healed)
    assert (again.messages, again.repairs) == (healed, {})


def test_thousands_of_results_cost_as_much_as_they_are() -> None:
    calls = [str(number) for number in range(20_000)]
    messages = [calling("a", *calls), *map(result, calls), *map(result, calls)]
    began = time.process_time()
    healed = healing.heal(messages)
    assert time.process_time() - began < 10  # when each was looked for among all: a minute
    assert healed.messages == messages[: len(calls) + 1]
    assert healed.repairs == {"left_out": len(calls)}
