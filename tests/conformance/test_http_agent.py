"""What hosted agents send, as the stock client understands it: no warning, no rejection."""

from typing import Any

import httpx
import pytest

from tests.acceptance.host import Host
from tests.conformance.conftest import Play, arguments, call, types, user


def emits(*events: dict[str, Any]) -> list[dict[str, Any]]:
    """A script that sends these events."""
    return [{"emit": event} for event in events]


def scripted(play: Play, *scripts: list[dict[str, Any]], **scenario: Any) -> dict[str, Any]:
    """Play scripts on one thread; the client had nothing to complain about."""
    runs = [call(script) for script in scripts]
    seen = play(*runs, path="/agui/agent/scripted/run", **scenario)
    assert seen["console"] == []
    assert not any("rejected" in run or "failed" in run for run in seen["runs"])
    return seen


def by_role(seen: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [message for message in seen["messages"] if message["role"] == role]


def test_text(play: Play) -> None:
    seen = scripted(play, [{"text": "Grüße, 🦊 \u0001\n"}, {"text": "and more"}])
    answers = [message["content"] for message in by_role(seen, "assistant")]
    assert answers == ["Grüße, 🦊 \u0001\n", "and more"]
    assert seen["runs"][0]["outcome"] == "success"
    assert len(by_role(seen, "user")) == 1, "the client's own message is still there, once"


def test_without_raw(play: Play) -> None:
    script = [*emits({"type": "RAW", "event": {"n": 1}}), {"text": "hi"}]
    seen = play(call(script), path="/agui/agent/scripted/run?raw=false")
    assert seen["console"] == []
    assert "RAW" not in types(seen["runs"][0])
    assert by_role(seen, "assistant")[0]["content"] == "hi"


def test_chunks_arrive_as_one_message(play: Play) -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK"}
    seen = scripted(
        play, emits({**chunk, "messageId": "m", "delta": "one "}, {**chunk, "delta": "two"})
    )
    assert by_role(seen, "assistant") == [{"id": "m", "role": "assistant", "content": "one two"}]


def test_tool_call_with_its_result(play: Play) -> None:
    seen = scripted(
        play,
        emits(
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"at":'},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '"x"}'},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "r", "content": "42"},
        ),
    )
    assert arguments(by_role(seen, "assistant")[0]) == {"at": "x"}
    assert by_role(seen, "tool") == [
        {"id": "r", "role": "tool", "toolCallId": "c", "content": "42"}
    ]
    assert seen["runs"][0]["pendingToolCallIds"] == []


def test_a_call_for_the_application_stays_pending(play: Play) -> None:
    seen = scripted(
        play,
        emits(
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "pick"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
        ),
    )
    assert seen["runs"][0]["outcome"] == "success"
    assert seen["runs"][0]["pendingToolCallIds"] == ["c"]


def test_state(play: Play) -> None:
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/list/-", "value": None}]}
    seen = scripted(
        play,
        [
            *emits({"type": "STATE_SNAPSHOT", "snapshot": {"list": [1]}}, delta, delta),
            {"state": {"a/b~c": {"deep": [True]}}},
        ],
    )
    assert seen["state"] == {"list": [1, None, None], "a/b~c": {"deep": [True]}}


def test_reasoning(play: Play) -> None:
    seen = scripted(
        play,
        emits(
            {"type": "REASONING_START", "messageId": "s"},
            {"type": "REASONING_MESSAGE_START", "messageId": "t", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "t", "delta": "hm"},
            {"type": "REASONING_MESSAGE_END", "messageId": "t"},
            {"type": "REASONING_END", "messageId": "s"},
        ),
    )
    assert by_role(seen, "reasoning") == [{"id": "t", "role": "reasoning", "content": "hm"}]


def test_what_an_agent_leaves_open_is_closed(play: Play) -> None:
    seen = scripted(
        play,
        emits(
            {"type": "STEP_STARTED", "stepName": "one"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "unfinished"},
        ),
    )
    closings = types(seen["runs"][0])[-3:]
    assert closings == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]


def test_activity_custom_and_unknown_events(play: Play) -> None:
    activity = {"messageId": "a", "activityType": "PLAN"}
    seen = scripted(
        play,
        emits(
            {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {"done": 0}},
            {
                "type": "ACTIVITY_DELTA",
                **activity,
                "patch": [{"op": "replace", "path": "/done", "value": 1}],
            },
            {"type": "CUSTOM", "name": "x.note", "value": {"any": None}},
            {"type": "NOT_OF_THE_PROTOCOL", "value": 1},
        ),
    )
    assert by_role(seen, "activity")[0]["content"] == {"done": 1}
    assert types(seen["runs"][0], "CUSTOM", "RAW") == ["CUSTOM", "RAW"]


@pytest.mark.parametrize(
    ("op", "code"),
    [({"raise": "secret"}, "agent_error"), ({"rubbish": "missing_field"}, "invalid_event")],
)
def test_an_agent_that_fails(play: Play, op: dict[str, Any], code: str) -> None:
    seen = scripted(play, [{"text": "before"}, op])
    (run,) = seen["runs"]
    assert run["error"]["code"] == code
    assert "secret" not in run["error"]["message"]
    assert types(run)[-1] == "RUN_ERROR"
    assert by_role(seen, "assistant")[0]["content"] == "before"


def test_a_conversation_grows_by_what_is_new(play: Play) -> None:
    seen = scripted(play, [{"text": "first"}, {"state": {"n": 1}}], [{"text": "second"}])
    assert [message["content"] for message in by_role(seen, "assistant")] == ["first", "second"]
    assert seen["state"] == {"n": 1}
    assert seen["runs"][0]["runId"] != seen["runs"][1]["runId"]


def test_interrupt_and_resume(play: Play) -> None:
    """The approval agent asks; the thread's second run brings the answer, and it acts."""
    asked = play(
        {"messages": [user("delete report.txt")]},
        path="/agui/agent/approval/run",
        threadId="approval-js",
    )
    (run,) = asked["runs"]
    assert asked["console"] == []
    assert run["outcome"] == "interrupt"
    (question,) = asked["pendingInterrupts"]
    assert question["responseSchema"]["required"] == ["approved"]

    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
    seen = play(
        {"messages": asked["messages"], "resume": [answer]},
        path="/agui/agent/approval/run",
        threadId="approval-js",
        state=asked["state"],
    )
    (run,) = seen["runs"]
    assert seen["console"] == []
    assert run["outcome"] == "success"
    assert seen["pendingInterrupts"] == []
    (done,) = seen["state"]["ledger"]
    assert (done["action"], done["target"]) == ("delete", "report.txt")
    (call_of_the_first_run,) = (m for m in seen["messages"] if m.get("toolCalls"))
    assert by_role(seen, "tool")[0]["toolCallId"] == call_of_the_first_run["toolCalls"][0]["id"]


ADDRESSES = ["/agui", "/agui/", "/api/agui", "/api/agui/", "/", "/agui/agent/scripted/run"]


@pytest.mark.parametrize("path", [*ADDRESSES, "/api/agui/agent/scripted/run/"])
def test_every_address_answers_without_a_redirect(play: Play, path: str) -> None:
    run = call([{"text": "here"}])
    run["forwardedProps"]["agentId"] = "scripted"
    seen = play(run, path=path)
    assert seen["answers"] == [{"status": 200, "redirected": False}]
    assert by_role(seen, "assistant")[0]["content"] == "here"
    assert seen["console"] == []


def test_a_client_that_aborts_does_not_end_the_run(play: Play, host: Host) -> None:
    run = {**call([{"text": "word", "n": 40, "rate": 40}]), "abortAfter": 5}
    seen = play(run, path="/agui/agent/scripted/run", threadId="aborted-js")
    assert types(seen["runs"][0]).count("TEXT_MESSAGE_CONTENT") < 40

    with host.client() as client:
        listed = client.get("/api/v1/runs", params={"thread_id": "aborted-js"}).json()
    (stored,) = listed["results"]
    assert host.wait_status(stored["id"], "succeeded")["cancel_requested_at"] is None
    kinds = [entry["event"]["type"] for entry in host.events(stored["id"])]
    assert kinds.count("TEXT_MESSAGE_CONTENT") == 40
    assert kinds[-1] == "RUN_FINISHED"


def test_a_refusal_reaches_the_client_as_an_error(play: Play, host: Host) -> None:
    seen = play({"messages": [user("hi")]}, path="/agui/agent/nobody/run")
    assert seen["runs"][0]["rejected"]["status"] == 404
    seen = play({"messages": [user("hi")]}, headers={"Authorization": "Bearer wrong"})
    assert seen["runs"][0]["rejected"]["status"] == 401
    answer = httpx.post(f"{host.url}/agui", headers=host.headers, content=b"{")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_json")


def test_a_client_from_before_1_0(play: Play) -> None:
    script: list[dict[str, Any]] = [{"text": "still understood"}, {"state": {"n": 1}}]
    seen = play(call(script), path="/agui/agent/scripted/run", client="ag-ui-client-0")
    assert "rejected" not in seen["runs"][0]
    assert by_role(seen, "assistant")[0]["content"] == "still understood"
    assert seen["state"] == {"n": 1}
