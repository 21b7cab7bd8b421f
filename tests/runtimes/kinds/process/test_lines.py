"""Recorded sessions of Claude Code and Codex as events; recorded/README.md names the source."""

import json
from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.kinds.process.claude import Claude
from agui_host.runtimes.kinds.process.codex import Codex
from agui_host.runtimes.kinds.process.lines import Lines
from tests.runtimes.playing import of, text_of, types
from tests.runtimes.processing import RECORDED, strict

BASH = {"command": "wc -w notes.txt", "description": "Count words"}


def mapped(name: str) -> tuple[Lines, list[dict[str, Any]]]:
    lines = Lines("auto", "p")
    events = list(lines.feed((RECORDED / name).read_bytes().splitlines()))
    return lines, strict([*events, *lines.close()])


def events_of(lines: list[str | dict[str, Any]], output: str = "auto") -> list[dict[str, Any]]:
    made = Lines(output, "p")
    texts = [json.dumps(line) if isinstance(line, dict) else line for line in lines]
    return strict([*made.feed(line.encode() for line in texts), *made.close()])


@pytest.mark.parametrize("name", ["claude.jsonl", "claude_partial.jsonl"])
def test_claude_session(name: str) -> None:
    lines, events = mapped(name)
    session = lines.dialect
    assert isinstance(session, Claude)
    texts = [e["messageId"] for e in of(events, "TEXT_MESSAGE_START")]
    assert texts == ["msg_fake0001", "msg_fake0003"]
    assert text_of(events) == "I count the words.notes.txt has five words."
    thought = "".join(e["delta"] for e in of(events, "REASONING_MESSAGE_CONTENT"))
    assert thought == "The word count needs a command."
    calls = {e["toolCallId"]: e for e in of(events, "TOOL_CALL_START")}
    assert [call["toolCallName"] for call in calls.values()] == ["Bash", "Read"]
    assert calls["toolu_fake01"]["parentMessageId"] == "msg_fake0001"
    args = [e["delta"] for e in of(events, "TOOL_CALL_ARGS") if e["toolCallId"] == "toolu_fake01"]
    assert json.loads("".join(args)) == BASH
    ok, missing = of(events, "TOOL_CALL_RESULT")
    assert (ok["content"], ok.get("metadata")) == ("5 notes.txt", None)
    assert missing["metadata"] == {"isError": True}
    assert session.over
    assert session.failure is None
    assert session.session_id == "20b940b2-99d1-488e-951c-d8e13716dbe9"
    assert session.result == {"costUsd": 0.028124999999999994, "turns": 3, "durationMs": 233}
    assert session.usage == [
        {
            "provider": "anthropic", "model": "claude-opus-4-8[1m]",
            "inputTokens": 3600 + 2700 + 900, "outputTokens": 126, "totalTokens": 7326,
            "cachedInputTokens": 2700, "cacheWriteInputTokens": 900,
        }
    ]  # fmt: skip


def test_claude_streams_its_fragments_once() -> None:
    _, events = mapped("claude_partial.jsonl")
    deltas = [e["delta"] for e in of(events, "TEXT_MESSAGE_CONTENT")]
    assert deltas == ["I count ", "the words.", "notes.txt has ", "five words."]
    assert len(of(events, "TOOL_CALL_ARGS")) == 3
    assert [e["event"]["subtype"] for e in of(events, "RAW")] == ["init"]


def test_claude_says_what_went_wrong() -> None:
    lines, events = mapped("claude_fail.jsonl")
    assert text_of(events) == "API Error: 400 no such model"
    assert lines.dialect
    assert lines.dialect.failure == "API Error: 400 no such model"


def test_claude_result_that_was_not_said_is_said() -> None:
    end = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
    assert text_of(events_of([end | {"session_id": "s"}])) == "Done."


def test_claude_subagents_and_new_lines_pass_as_raw() -> None:
    inner = {"type": "assistant", "session_id": "s", "parent_tool_use_id": "toolu_1"}
    events = events_of([inner, {"type": "rate_limit_event", "session_id": "s"}])
    assert types(events) == ["RAW", "RAW"]
    assert {event["source"] for event in events} == {"claude"}


@pytest.mark.parametrize(
    "line",
    [
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": [None, 3, {"type": "text"}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": None}]}},
        {"type": "stream_event", "event": {"type": "content_block_delta", "index": [1]}},
        {"type": "stream_event", "event": {"type": "content_block_start", "index": {}}},
        {"type": "stream_event", "event": 7},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": ""}]}},
        {"type": "result", "modelUsage": {"m": None}},
        {"type": ["result"]},
    ],
)
def test_claude_lines_of_the_wrong_shape_do_no_harm(line: dict[str, Any]) -> None:
    events_of([{"type": "system", "session_id": "s"}, line], output="claude")


def test_codex_session() -> None:
    lines, events = mapped("codex.jsonl")
    session = lines.dialect
    assert isinstance(session, Codex)
    assert session.session_id == "01a1fc8d-2764-7613-8500-cb817f2163a9"
    assert text_of(events) == "notes.txt has five words."
    assert of(events, "REASONING_MESSAGE_CONTENT")[0]["delta"] == "The word count needs a command."
    assert [e["toolCallName"] for e in of(events, "TOOL_CALL_START")] == ["command_execution"] * 2
    first = json.loads(of(events, "TOOL_CALL_ARGS")[0]["delta"])
    assert first == {"command": "/bin/bash -lc 'wc -w notes.txt'"}
    good, bad = of(events, "TOOL_CALL_RESULT")
    assert json.loads(good["content"]) == {
        "aggregated_output": "5 notes.txt\n", "exit_code": 0, "status": "completed",
    }  # fmt: skip
    assert bad["metadata"] == {"isError": True}
    assert [e["event"]["type"] for e in of(events, "RAW")] == ["error"]
    assert session.over
    assert session.usage == [
        {
            "provider": "openai", "inputTokens": 6000, "outputTokens": 300,
            "cachedInputTokens": 2400, "cacheWriteInputTokens": 0, "reasoningTokens": 120,
        }
    ]  # fmt: skip


def test_codex_counts_a_session_and_we_a_run() -> None:
    """Measured with Codex CLI 0.169.0: a resumed session of 6000 says 7000 after 1000 more."""
    used = {"type": "turn.completed", "usage": {"input_tokens": 7000, "output_tokens": 350}}
    session = Codex("p", {"input_tokens": 6000, "output_tokens": 300})
    assert list(session.feed(used)) == []
    assert session.usage == [{"provider": "openai", "inputTokens": 1000, "outputTokens": 50}]
    assert session.totals == {"input_tokens": 7000, "output_tokens": 350}


def test_codex_says_what_went_wrong() -> None:
    lines, events = mapped("codex_fail.jsonl")
    assert lines.dialect
    assert "no such model" in (lines.dialect.failure or "")
    assert set(types(events)) == {"RAW"}


def test_codex_items() -> None:
    def item(event: str, **fields: Any) -> dict[str, Any]:
        return {"type": f"item.{event}", "item": fields}

    events = events_of([
        {"type": "thread.started", "thread_id": "t"},
        item("started", id="1", type="agent_message", text="On"),
        item("updated", id="1", type="agent_message", text="One"),
        item("completed", id="1", type="agent_message", text="One two"),
        item("started", id="2", type="mcp_tool_call", server="s", tool="t", arguments={"a": 1}),
        item("completed", id="2", type="mcp_tool_call", server="s", tool="t", arguments={"a": 1},
             result={"content": []}, error=None, status="completed"),
        item("completed", id="3", type="file_change", status="failed",
             changes=[{"path": "a", "kind": "add"}]),
        item("started", id="4", type="todo_list", items=[{"text": "x", "completed": False}]),
        item("updated", id="4", type="todo_list", items=[{"text": "x", "completed": True}]),
        item("completed", id="5", type="web_search", query="q", action={"type": "search"}),
        item("completed", id="6", type="tomorrow"),
        {"type": "item.completed", "item": None},
    ])  # fmt: skip
    assert [e["delta"] for e in of(events, "TEXT_MESSAGE_CONTENT")] == ["On", "e", " two"]
    names = [e["toolCallName"] for e in of(events, "TOOL_CALL_START")]
    assert names == ["s.t", "file_change", "web_search"]
    assert json.loads(of(events, "TOOL_CALL_ARGS")[0]["delta"]) == {"a": 1}
    todo = of(events, "ACTIVITY_SNAPSHOT")
    assert [e["content"]["items"][0]["completed"] for e in todo] == [False, True]
    assert len({e["messageId"] for e in todo}) == 1
    assert len(of(events, "RAW")) == 2


# --- steps


def stepped(events: list[dict[str, Any]]) -> list[str]:
    """The steps and what lies between their ends: names at their starts, ``.`` at their ends."""
    marks = {"STEP_STARTED": "{stepName}", "STEP_FINISHED": ".", "TOOL_CALL_START": "call"}
    return [marks[e["type"]].format(**e) for e in events if e["type"] in marks]


@pytest.mark.parametrize("name", ["claude.jsonl", "claude_partial.jsonl", "codex.jsonl"])
def test_each_group_of_tool_calls_is_a_step(name: str) -> None:
    _, events = mapped(name)
    tools = [e["toolCallName"] for e in of(events, "TOOL_CALL_START")]
    assert stepped(events) == [tools[0], "call", ".", tools[1], "call", "."]
    first, second = of(events, "STEP_FINISHED")
    assert "metadata" not in first
    assert second["metadata"] == {"status": "failed"}, "its result is an error"


def test_calls_at_the_same_time_are_one_step_which_speech_ends() -> None:
    def block(kind: str, **fields: Any) -> dict[str, Any]:
        message = {"id": "m", "content": [{"type": kind, **fields}]}
        return {"type": "assistant", "session_id": "s", "message": message}

    def result(*ids: str) -> dict[str, Any]:
        content = [{"type": "tool_result", "tool_use_id": id, "content": "x"} for id in ids]
        return {"type": "user", "session_id": "s", "message": {"content": content}}

    events = events_of([
        block("tool_use", id="a", name="Read"), block("tool_use", id="b", name="Grep"),
        result("a"), result("b"),
        block("server_tool_use", id="c", name="web_search"), block("text", text="Found."),
        block("tool_use", id="d", name="Bash"),
    ])  # fmt: skip
    steps = ["Read", "call", "call", ".", "web_search", "call", ".", "Bash", "call"]
    assert stepped(events) == steps, "the last one is open: the run's end tells how it ended"


def test_marked_lines_are_steps() -> None:
    lines = Lines("auto", "p", marker="==> ")
    output_lines = ["hello", "==> build", "one", "==>  test ", "==> ", "two"]
    events = [
        *lines.feed(line.encode() for line in output_lines),
        *lines.close(),
        *lines.steps.end(),
    ]
    assert stepped(strict(events)) == ["build", ".", "test", "."]
    assert text_of(events) == "hello\none\ntwo\n"


# --- events and text


def test_lines_of_text_are_one_message_between_events() -> None:
    custom = {"type": "CUSTOM", "name": "a.b", "value": 1}
    events = events_of(["", "one", "{no json", custom, '{"type": "other"}', "[1]"])
    assert types(events) == [
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "CUSTOM",
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
    ]  # fmt: skip
    assert text_of(events) == 'one\n{no json\n{"type": "other"}\n[1]\n'


def test_text_stays_text_where_it_is_said_to_be() -> None:
    line = '{"type": "CUSTOM", "name": "a.b", "value": 1}'
    assert text_of(events_of([line], output="text")) == line + "\n"


def test_what_comes_after_the_terminal_event_is_dropped() -> None:
    lines = Lines("auto", "p")
    end = {"type": "RUN_ERROR", "message": "x"}
    assert (
        list(lines.feed([b"a", json.dumps(end).encode(), b"b"]))[-1]["type"] == "TEXT_MESSAGE_END"
    )
    assert lines.terminal == end


@pytest.mark.parametrize("line", [b"\xff\xfe", b"a\0b"])
def test_what_is_no_text_is_named(line: bytes) -> None:
    events = Lines("auto", "p").feed([b"kept", line])
    assert text_of([next(events), next(events)]) == "kept\n"
    with pytest.raises(RunFailed, match=r"Line 2 .* not UTF-8") as failed:
        next(events)
    assert failed.value.reason == RunErrorCode.INVALID_EVENT
