"""What an account makes of snapshots, and what they cost however long the log is."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agui_host.protocol.fold.account import CORRECTION, MOST_NAMES, SNAPSHOT, Account

Wire = dict[str, Any]
MANY = 500
PER_SNAPSHOT = 800
"""Lines of Python for a snapshot of one message; one that corrects ``MOST_NAMES`` needs most."""


def text(n: int, content: str = "x", role: str = "assistant") -> Wire:
    return {"id": f"m{n}", "role": role, "content": content}


def snapshot(*messages: Wire) -> Wire:
    return {"type": SNAPSHOT, "messages": list(messages)}


def begun(*brought: Wire, then: Iterator[Wire] | tuple[()] = ()) -> Account:
    account = Account()
    account.take({"type": "RUN_STARTED", "input": {"messages": list(brought)}})
    for event in then:
        account.take(event)
    return account


def thoughts() -> Iterator[Wire]:
    for n in range(MANY):
        yield {"type": "REASONING_MESSAGE_START", "messageId": f"r{n}", "role": "reasoning"}
        yield {"type": "REASONING_MESSAGE_END", "messageId": f"r{n}"}


def open_texts() -> Iterator[Wire]:
    for n in range(MANY):
        yield {"type": "TEXT_MESSAGE_START", "messageId": f"o{n}"}


CASES: dict[str, tuple[Account, Callable[[int], Wire]]] = {
    "renamed": (begun(), lambda n: snapshot(text(n))),
    "renamed and corrected": (begun(), lambda n: snapshot(text(n // 2, str((n + 1) // 2)))),
    "thoughts": (begun(then=thoughts()), lambda n: snapshot(text(0))),
    "open": (begun(then=open_texts()), lambda n: snapshot(text(0))),
    "brought": (begun(*map(text, range(MANY, 5 * MANY))), lambda n: snapshot(text(n, str(n)))),
}


def check_steps(account: Account, events: Iterator[Wire], most: int) -> None:
    """Count the lines of Python that the account needs for these snapshots."""
    count = 0

    def trace(frame: Any, kind: str, argument: Any) -> Any:
        nonlocal count
        count += kind == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for event in events:
            for _ in account.restate(event):
                pass
            assert count < most
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("name", CASES)
def test_a_snapshot_costs_its_own_length(name: str) -> None:
    account, make = CASES[name]
    check_steps(account, map(make, range(MANY)), MANY * PER_SNAPSHOT)


def test_a_message_that_gets_yet_another_id_is_another_one() -> None:
    account = begun()
    made = [list(account.restate(snapshot(text(n)))) for n in range(MOST_NAMES + 1)]
    assert [len(events) for events in made[:-1]] == [3] + [0] * (MOST_NAMES - 1)
    whole, gone = made[-1][:3], made[-1][3:]
    assert {event["messageId"] for event in whole} == {f"m{MOST_NAMES}"}
    assert [(event["type"], event["content"]) for event in gone] == [(CORRECTION, None)] * 100


def test_of_two_equal_texts_a_stored_account_renames_the_same_one() -> None:
    names = ("a", "b", "b", "a")
    account = begun()
    for name, kind in zip(names, ("START", "START", "END", "END"), strict=True):
        if kind == "END":
            account.take({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "x"})
        account.take({"type": f"TEXT_MESSAGE_{kind}", "messageId": name})
    stored = Account.load(json.loads(json.dumps(account.dump())))
    made = list(account.restate(snapshot(text(1))))
    assert [event["id"] for event in made] == ["b"]
    assert list(stored.restate(snapshot(text(1)))) == made


def test_the_same_arguments_correct_nothing() -> None:
    account = begun()
    call = {"toolCallId": "c", "toolCallName": "f"}
    for kind in ("START", "ARGS", "END"):
        account.take({"type": f"TOOL_CALL_{kind}", **call, "delta": '{"a": 1}'})
    function = {"name": "f", "arguments": '{"a": 1}'}
    message = {**text(1, ""), "toolCalls": [{"id": "c", "type": "function", "function": function}]}
    assert list(account.restate(snapshot(message))) == []
    function["arguments"] = '{"a":1}'
    (made,) = account.restate(snapshot(message))
    assert (made["type"], made["content"]) == (CORRECTION, '{"a":1}')
    assert list(account.restate(snapshot(message))) == []
