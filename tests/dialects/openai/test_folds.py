"""Runs as OpenAI's clients need them: arguments that parse, usage in numbers, reasoning shown."""

import json
import time
from typing import Any

import pytest

from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses

Json = dict[str, Any]
TOOLS = [{"name": "ask", "description": "", "parameters": {}}]
STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"tools": TOOLS}}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED = {"type": "RUN_ERROR", "message": "no"}


def call(name: str, *deltas: str) -> list[Json]:
    pieces = [{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta} for delta in deltas]
    return [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": name},
        *pieces,
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]


def play(fold: Responses | ChatCompletion, *events: Json) -> list[Json]:
    return [frame for event in events for frame in fold.feed(event)]


@pytest.mark.parametrize("deltas", [(), ("",), (" ",)])
@pytest.mark.parametrize("name", ["ask", "of_the_agent"])
def test_a_call_without_arguments_has_an_empty_object(name: str, deltas: tuple[str, ...]) -> None:
    fold = Responses("r")
    frames = play(fold, STARTED, *call(name, *deltas), FINISHED)
    (item,) = fold.response["output"]
    assert json.loads(item["arguments"]) == {}
    kinds = {frame["type"]: frame for frame in frames}
    kind = "function_call" if name == "ask" else "mcp_call"
    assert json.loads(kinds[f"response.{kind}_arguments.done"]["arguments"]) == {}
    added = [f["delta"] for f in frames if f["type"] == f"response.{kind}_arguments.delta"]
    assert json.loads("".join(added)) == {}


@pytest.mark.parametrize("deltas", [(), ("",)])
def test_a_chats_call_without_arguments_has_an_empty_object(deltas: tuple[str, ...]) -> None:
    fold = ChatCompletion("r")
    frames = play(fold, STARTED, *call("ask", *deltas), FINISHED)
    (made,) = fold.completion["choices"][0]["message"]["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == {}
    changes = [choice["delta"] for frame in frames for choice in frame["choices"]]
    streamed = [each for change in changes for each in change.get("tool_calls", ())]
    assert json.loads("".join(each["function"]["arguments"] for each in streamed)) == {}


def test_arguments_stay_as_they_are() -> None:
    fold = Responses("r")
    play(fold, STARTED, *call("ask", '{"a"', ":1}"), FINISHED)
    assert fold.response["output"][0]["arguments"] == '{"a":1}'


@pytest.mark.parametrize("end", [FINISHED, FAILED, {**FINISHED, "outcome": {"type": "cancelled"}}])
def test_usage_is_never_null_at_the_end(end: Json) -> None:
    fold = Responses("r")
    *_, last = play(fold, STARTED, end)
    assert last["response"]["usage"]["total_tokens"] == 0
    chat = ChatCompletion("r", with_usage=True)
    frames = play(chat, STARTED, FINISHED)
    assert chat.completion["usage"]["total_tokens"] == frames[-1]["usage"]["total_tokens"] == 0


def test_an_answer_that_was_cut_is_closed_as_incomplete() -> None:
    """Its worker was lost: what it had written stays, and is not taken for the whole."""
    fold, text = Responses("r"), {"messageId": "m"}
    frames = play(
        fold,
        STARTED,
        {"type": "TEXT_MESSAGE_START", **text, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", **text, "delta": "Half an"},
        FAILED,
    )
    (item,) = fold.response["output"]
    assert (item["status"], item["content"][0]["text"]) == ("incomplete", "Half an")
    (closed,) = [each for each in frames if each["type"] == "response.output_item.done"]
    assert closed["item"] == item


def test_reasoning_is_a_summary() -> None:
    fold = Responses("r")
    thought = {"messageId": "m"}
    frames = play(
        fold,
        STARTED,
        {"type": "REASONING_MESSAGE_START", **thought, "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", **thought, "delta": "H"},
        {"type": "REASONING_MESSAGE_CONTENT", **thought, "delta": "m."},
    )
    assert fold.response["output"][0]["summary"] == [{"type": "summary_text", "text": "Hm."}]
    frames += play(fold, {"type": "REASONING_MESSAGE_END", **thought}, FINISHED)
    prefix = "response.reasoning_summary_"
    summary = [frame for frame in frames if frame["type"].startswith(prefix)]
    assert [frame["type"].removeprefix(prefix) for frame in summary] == [
        "part.added", "text.delta", "text.delta", "text.done", "part.done",
    ]  # fmt: skip
    assert {frame["summary_index"] for frame in summary} == {0}
    part = {"type": "summary_text", "text": "Hm."}
    assert (summary[3]["text"], summary[4]["part"]) == ("Hm.", part)
    (item,) = fold.response["output"]
    assert (item["type"], item["summary"], item["status"]) == ("reasoning", [part], "completed")


def say(key: str) -> list[Json]:
    kinds = ("START", "CONTENT", "END")
    return [{"type": f"TEXT_MESSAGE_{kind}", "messageId": key, "delta": key} for kind in kinds]


def test_a_snapshot_corrects_a_message_without_a_look_at_the_others() -> None:
    many = 5_000
    fold = Responses("r")
    play(fold, STARTED, *(event for n in range(many) for event in say(f"m{n}")), *say("m1"))
    messages = [{"id": "m1", "role": "assistant", "content": "now"}]
    began = time.process_time()
    play(fold, {"type": "MESSAGES_SNAPSHOT", "messages": messages})
    assert time.process_time() - began < 1, "it was 5 s"
    texts = [item["content"][0]["text"] for item in fold.response["output"]]
    assert texts == ["now"], "the whole text stands once"


def test_snapshots_that_correct_a_message_of_many_items_look_at_them_once() -> None:
    many = 3_000
    fold = Responses("r")
    play(fold, STARTED, *(event for _ in range(many) for event in say("m")))
    message = {"id": "m", "role": "assistant", "content": ""}
    began = time.process_time()
    for n in range(many):
        message["content"] = f"now {n}"
        play(fold, {"type": "MESSAGES_SNAPSHOT", "messages": [message]})
    assert time.process_time() - began < 1, "it was 8 s"
    play(fold, *say("m"), FINISHED)
    texts = [item["content"][0]["text"] for item in fold.response["output"]]
    assert texts == [message["content"], "m"]


def test_arguments_that_are_written_in_many_ways_take_their_room_once() -> None:
    fold = Responses("r")
    play(fold, STARTED, *call("ask", "{" + " " * 1_000_000 + "}"))
    function = {"name": "ask", "arguments": ""}
    made = {"id": "c", "type": "function", "function": function}
    message = {"id": "m", "role": "assistant", "toolCalls": [made]}
    for n in range(20):
        function["arguments"] = "{" + " " * (1_000_000 - n) + "}"
        play(fold, {"type": "MESSAGES_SNAPSHOT", "messages": [message]})
    assert fold.response["output"][0]["arguments"] == function["arguments"]
    function["arguments"] = " "
    play(fold, {"type": "MESSAGES_SNAPSHOT", "messages": [message]}, FINISHED)
    assert fold.response["output"][0]["arguments"] == "{}"


def test_texts_and_results_that_are_corrected_again_and_again_take_their_room_once() -> None:
    fold = Responses("r")
    result = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": ""}
    play(fold, STARTED, *say("m"), *call("look", "{}"), result)
    calls = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    for n in range(20):
        content = f"{n}" * 500_000
        messages = [
            {"id": "m", "role": "assistant", "content": content, "toolCalls": calls},
            {"id": "t", "role": "tool", "toolCallId": "c", "content": content},
        ]
        play(fold, {"type": "MESSAGES_SNAPSHOT", "messages": messages})
    message, look = fold.response["output"]
    assert (message["content"][0]["text"], look["output"]) == (content, content)


def test_texts_that_are_open_together_come_one_after_the_other() -> None:
    """Agents side by side: their pieces are not mixed in the one content of a chat."""
    fold = ChatCompletion("r")

    def piece(kind: str, key: str, **members: str) -> Json:
        return {"type": f"TEXT_MESSAGE_{kind}", "messageId": key, **members}

    frames = play(
        fold, STARTED,
        piece("START", "a", role="assistant"), piece("CONTENT", "a", delta="One "),
        piece("START", "b", role="assistant"), piece("CONTENT", "b", delta="Two "),
        piece("START", "c", role="assistant"), piece("CONTENT", "c", delta="Three"),
        piece("END", "c"),
        piece("CONTENT", "a", delta="whole."), piece("END", "a"),
        piece("CONTENT", "b", delta="halves."), piece("END", "b"), FINISHED,
    )  # fmt: skip
    whole = "One whole.\n\nTwo halves.\n\nThree"
    assert fold.completion["choices"][0]["message"]["content"] == whole
    deltas = [choice["delta"].get("content", "") for each in frames for choice in each["choices"]]
    assert "".join(deltas) == whole
