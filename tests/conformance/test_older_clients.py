"""Readers of AG-UI 0.x, judged by the clients themselves: no stream makes one of them reject.

``JUDGE_EXAMPLES`` says how many logs each of them reads.
"""

import json
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.protocol.encoding import encode
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude_frames
from agui_host.protocol.views.legacy import Older, version_of
from events.frames import Frames
from tests.acceptance.host import Host
from tests.conformance.node import Answers, answering
from tests.conformance.test_judge import thorough
from tests.protocol.legal import Event
from tests.protocol.logs import expanded, threads

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "60"))
CLIENTS = {
    "0.0.35": "ag-ui-client-0-35",
    "0.0.36": "ag-ui-client-0-36",
    "0.0.39": "ag-ui-client-0-39",
    "0.0.40": "ag-ui-client-0-40",
    "0.0.43": "ag-ui-client-0-43",
    "0.0.57": "ag-ui-client-0-57",
    "0.0.59": "ag-ui-client-0",
}
MUTE = ("0.0.35", "0.0.36")
"""They know no text but the assistant's, and no reasoning that a client of theirs accepts."""
FLAT = (*MUTE, "0.0.39", "0.0.40")
"""They know no activities, and no parts of a message."""
versions = pytest.mark.parametrize("version", CLIENTS)
INPUT = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
PARTS = [
    {"type": "text", "text": "see"},
    {"type": "image", "source": {"type": "data", "value": "QUJD", "mimeType": "image/png"}},
    {"type": "document", "source": {"type": "file", "value": "h1", "provider": "x"}},
    {"type": "audio", "source": {"type": "url", "value": "https://x/y"}},
]
MESSAGES = [
    {"id": "u", "role": "user", "content": PARTS},
    {"id": "r", "role": "reasoning", "content": "hm"},
    {"id": "a", "role": "assistant", "toolCalls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"id": "t", "role": "tool", "toolCallId": "c", "content": PARTS[:2]},
    {"id": "p", "role": "activity", "activityType": "PLAN", "content": {"n": 1}},
    {"id": "x", "role": "assistant", "content": "id: 7\ndata: {}\n\ndata: [DONE]\n\n"},
]  # fmt: skip
S = {"subagentRunId": "s"}
EVERYTHING: list[Event] = [
    {"type": "RUN_STARTED", "threadId": "thread", "runId": "r", "protocolVersion": "1.0",
     "input": {"threadId": "thread", "runId": "r", **INPUT, "messages": MESSAGES[:1]}},
    {"type": "MESSAGES_SNAPSHOT", "messages": MESSAGES},
    {"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "PLAN",
     "patch": [{"op": "add", "path": "/n", "value": 2}]},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "q", "activityType": "PLAN", "content": {}},
    {"type": "STEP_STARTED", "stepName": "one"},
    {"type": "SUBAGENT_STARTED", **S, "name": "helper"},
    {"type": "STEP_STARTED", "stepName": "one", **S},
    {"type": "STEP_FINISHED", "stepName": "one"},
    {"type": "STEP_FINISHED", "stepName": "one", **S},
    {"type": "REASONING_START", "messageId": "s1"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r2", "role": "reasoning", **S},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "so"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r2", "delta": "or"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": ""},
    {"type": "REASONING_MESSAGE_END", "messageId": "r1"},
    {"type": "REASONING_END", "messageId": "s1"},
    {"type": "REASONING_MESSAGE_END", "messageId": "r2"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "a",
     "encryptedValue": "x"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "done"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m2", "role": "user"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m2", "delta": "thanks"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m2"},
    {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "g"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c2", "delta": ""},
    {"type": "TOOL_CALL_END", "toolCallId": "c2"},
    {"type": "TOOL_CALL_RESULT", "messageId": "t2", "toolCallId": "c2", "content": PARTS[:1]},
    {"type": "TOOL_CALL_START", "toolCallId": "c3", "toolCallName": "g"},
    {"type": "TOOL_CALL_END", "toolCallId": "c3"},
    {"type": "SUBAGENT_FINISHED", **S, "outcome": {"type": "success"}},
    {"type": "RAW", "event": {"x": None}},
    {"type": "RUN_FINISHED", "threadId": "thread", "runId": "r",
     "outcome": {"type": "success", "pendingToolCallIds": ["c3"]}},
]  # fmt: skip
CANCELLED: Event = {
    "type": "RUN_FINISHED", "threadId": "thread", "runId": "r", "outcome": {"type": "cancelled"},
}  # fmt: skip


Clients = Callable[[str, bytes], dict[str, Any]]


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    """What a client of this version makes of a stream."""
    with answering("older.mjs") as answers:
        yield lambda version, body: answers({"client": CLIENTS[version], "body": body.decode()})


def complete(log: list[Event]) -> list[Event]:
    """The log with inputs as the host echoes them."""
    return [
        {**event, "input": {**INPUT, **event["input"]}} if "input" in event else event
        for event in log
    ]


def translated(log: list[Event], version: str, cut: int, pieces: list[int]) -> bytes:
    """What a reader gets that joins at ``cut``: prelude, then the log in ``pieces``."""
    known = version_of(version)
    assert known
    older, fold = Older(known), Fold()
    for event in log[:cut]:
        fold.feed(event)
    body = older.opening(prelude_frames(fold, cut) or b"")
    while cut < len(log):
        batch = [encode(event) for event in log[cut : cut + (pieces.pop() if pieces else 10**6)]]
        body += older(Frames(cut + 1, cut + len(batch), batch, final=False))
        cut += len(batch)
    assert f"id: {len(log)}\n".encode() in body, "the cursor comes to the end"
    return body


def test_nothing_of_a_log_is_rejected(clients: Clients) -> None:
    """Each log is read by all clients: to make one up takes longer than to judge it."""

    @settings(thorough, max_examples=EXAMPLES)
    @given(threads(), st.integers(0, 2**16))
    def check(events: list[Event], seed: int) -> None:
        log = complete(expanded(events))
        chance = random.Random(seed)
        for version in (each for each in CLIENTS if each not in MUTE):
            for cut in (0, chance.randrange(len(log) + 1)):
                body = translated(log, version, cut, [chance.randint(1, 9) for _ in range(5)])
                answer = clients(version, body)
                assert answer["error"] is None, (version, answer, body.decode())

    check()


@versions
def test_texts_that_look_like_frames_pass_a_prelude(clients: Clients, version: str) -> None:
    for cut in (2, len(EVERYTHING)):
        answer = clients(version, translated(EVERYTHING, version, cut, []))
        assert answer["error"] is None
        contents = {message["id"]: message.get("content") for message in answer["messages"]}
        assert contents["x"] == MESSAGES[-1]["content"]


@versions
@pytest.mark.parametrize("end", [EVERYTHING[-1], CANCELLED], ids=["pending", "cancelled"])
def test_everything_that_has_changed_since(clients: Clients, version: str, end: Event) -> None:
    log = [*EVERYTHING[:-1], end]
    answer = clients(version, translated(log, version, 0, []))
    assert answer["error"] is None
    by_id = {message["id"]: message for message in answer["messages"]}
    assert by_id["m"]["content"] == "done"
    assert by_id["t2"]["content"] == "see"
    assert by_id["t"]["content"] == "see\n[image: image/png]"
    types, old = answer["types"], version in (*FLAT, "0.0.43")
    assert ("m2" in by_id) == (version not in MUTE)
    assert types.count("THINKING_TEXT_MESSAGE_CONTENT") == (1 if old and version not in MUTE else 0)
    assert types.count("REASONING_MESSAGE_CONTENT") == (0 if old else 3)
    assert ("SUBAGENT_STARTED" in types) == (version == "0.0.59")
    assert ("p" in by_id) == ("ACTIVITY_DELTA" in types) == (version not in FLAT)
    assert types[-1] == ("RUN_ERROR" if end is CANCELLED else "RUN_FINISHED")
    content = by_id["u"]["content"]
    if version in FLAT:
        expected = "see\n[image: image/png]\n[document: h1]\n[audio: https://x/y]"
        assert content == expected
    else:
        kinds = [part["type"] for part in content]
        assert kinds == [
            "text",
            *(["binary", "text", "binary"] if old else ["image", "text", "audio"]),
        ]


@versions
def test_a_reader_that_comes_back_in_the_middle_of_a_thought(version: str) -> None:
    """Translated from its cursor on, the rest fits what came before."""
    known = version_of(version)
    assert known
    whole = types_of(Older(known), EVERYTHING, 0)
    for cut in range(1, len(EVERYTHING)):
        before, older = types_of(Older(known), EVERYTHING[:cut], 0), Older(known)
        for event in EVERYTHING[:cut]:
            if event["type"] in older.remembers:
                older.events(event)
        assert before + types_of(older, EVERYTHING[cut:], cut) == whole


def types_of(older: Older, log: list[Event], after: int) -> list[str]:
    body = older(Frames(after + 1, after + len(log), list(map(encode, log)), final=False))
    return [
        json.loads(line[6:])["type"] for line in body.decode().split("\n") if line[:6] == "data: "
    ]


@versions
def test_on_the_running_host(stock: Answers, host: Host, version: str) -> None:
    """A POST whose address says the version, and one that says none where that is the newest."""
    emits = [{"emit": event} for event in EVERYTHING[2:-1] if event["type"] != "ACTIVITY_DELTA"]
    run = {"messages": [{"id": "u1", "role": "user", "content": "go"}],
           "forwardedProps": {"script": emits}}  # fmt: skip
    query = "" if version == "0.0.59" else f"?protocol={version}"
    report = stock(
        {"url": f"{host.url}/agui/agent/scripted/run{query}", "headers": host.headers,
         "client": CLIENTS[version], "runs": [run]}
    )  # fmt: skip
    assert "rejected" not in report["runs"][0]
    assert {message["id"]: message.get("content") for message in report["messages"]}["m"] == "done"
