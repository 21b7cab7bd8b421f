"""The answer of a run in two forms: as streamed events, and as one snapshot of its messages."""

import uuid
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.strict_json import dumps

Event = dict[str, Any]
# Hypothesis draws texts of our source as well, so this one stands nowhere in it.
SECRET = uuid.uuid5(uuid.NAMESPACE_DNS, "secret.example").hex
USER = {"id": "u", "role": "user", "content": "weather?"}
TOOLS = [{"name": "ask", "description": "", "parameters": {}}]
RUN = {"threadId": "t", "runId": "r"}
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda text: bool(text.strip())
)
RESULT = TEXT | TEXT.map(lambda text: [{"type": "text", "text": text}])


def began() -> Event:
    """The RUN_STARTED of each of these logs."""
    return {"type": "RUN_STARTED", **RUN, "input": {**RUN, "messages": [USER], "tools": TOOLS}}


FINISHED: Event = {"type": "RUN_FINISHED", **RUN}


@st.composite
def answers(draw: Callable[..., Any]) -> list[Event]:
    """The messages of an answer: texts, reasoning, calls, some of them with results."""
    messages: list[Event] = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            thought = {"id": f"th{number}", "role": "reasoning", "content": draw(TEXT)}
            messages.append(thought)
        calls = [
            _call(f"c{number}-{place}", draw(st.sampled_from(["ask", "look"])), draw(TEXT))
            for place in range(draw(st.integers(0, 2)))
        ]
        message: Event = {"id": f"m{number}", "role": "assistant"}
        if not calls or draw(st.booleans()):
            message["content"] = f"{number} {draw(TEXT)}"
        if calls:
            message["toolCalls"] = calls
        messages.append(message)
        for call in calls:
            if draw(st.booleans()):
                ids = {"id": f"r-{call['id']}", "toolCallId": call["id"]}
                messages.append({**ids, "role": "tool", "content": draw(RESULT)})
    return messages


def _call(id: str, name: str, text: str) -> Event:
    return {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": dumps({"q": text})},
    }


def streamed(messages: list[Event]) -> list[Event]:
    """The events that bring these messages, each text in two pieces."""
    return [event for message in messages for event in _streamed(message)]


def _streamed(message: Event) -> list[Event]:
    if message["role"] == "tool":
        ids = {"messageId": message["id"], "toolCallId": message["toolCallId"]}
        return [{"type": "TOOL_CALL_RESULT", **ids, "content": message["content"]}]
    kind, role = "TEXT_MESSAGE", message["role"]
    if role == "reasoning":
        kind = "REASONING_MESSAGE"
    events: list[Event] = []
    key = {"messageId": message["id"]}
    if "content" in message:
        events = _parts(kind, key, message["content"], {"role": role})
    for call in message.get("toolCalls", ()):
        function = call["function"]
        head = {"toolCallName": function["name"], "parentMessageId": message["id"]}
        events += _parts("TOOL_CALL", {"toolCallId": call["id"]}, function["arguments"], head)
    return events


def _parts(kind: str, key: Event, text: str, head: Event) -> list[Event]:
    half, piece = len(text) // 2, "ARGS" if kind == "TOOL_CALL" else "CONTENT"
    deltas = [
        {"type": f"{kind}_{piece}", **key, "delta": each} for each in (text[:half], text[half:])
    ]
    return [{"type": f"{kind}_START", **key, **head}, *deltas, {"type": f"{kind}_END", **key}]


def snapshot(messages: list[Event]) -> Event:
    """One event that brings all of them, after the user's message."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": [USER, *messages]}


def log(events: list[Event]) -> list[Event]:
    """A whole log with these events, all of one time."""
    return [{"timestamp": 1, **event} for event in [began(), *events, FINISHED]]


def folded(events: list[Event]) -> Fold:
    """What a stock client holds of them."""
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold
