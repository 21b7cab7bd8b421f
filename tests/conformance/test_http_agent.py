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
    report = play(*runs, path="/agui/agent/scripted/run", **scenario)
    assert report["console"] == []
    assert not any("rejected" in run or "failed" in run for run in report["runs"])
    return report


def by_role(report: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [message for message in report["messages"] if message["role"] == role]


def test_text(play: Play) -> None:
    report = scripted(play, [{"text": "Grüße, 🦊 \u0001\n"}, {"text": "and more"}])
    answers = [message["content"] for message in by_role(report, "assistant")]
    assert answers == ["Grüße, 🦊 \u0001\n", "and more"]
    assert report["runs"][0]["outcome"] == "success"
    assert len(by_role(report, "user")) == 1, "the client's own message is still there, once"


def test_without_raw(play: Play) -> None:
    script = [*emits({"type": "RAW", "event": {"n": 1}}), {"text": "hi"}]
    report = play(call(script), path="/agui/agent/scripted/run?raw=false")
    assert report["console"] == []
    assert "RAW" not in types(report["runs"][0])
    assert by_role(report, "assistant")[0]["content"] == "hi"


def test_chunks_arrive_as_one_message(play: Play) -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK"}
    report = scripted(
        play, emits({**chunk, "messageId": "m", "delta": "one "}, {**chunk, "delta": "two"})
    )
    assert by_role(report, "assistant") == [{"id": "m", "role": "assistant", "content": "one two"}]


def test_tool_call_with_its_result(play: Play) -> None:
    report = scripted(
        play,
        emits(
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"at":'},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '"x"}'},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "r", "content": "42"},
        ),
    )
    assert arguments(by_role(report, "assistant")[0]) == {"at": "x"}
    assert by_role(report, "tool") == [
        {"id": "r", "role": "tool", "toolCallId": "c", "content": "42"}
    ]
    assert report["runs"][0]["pendingToolCallIds"] == []


def test_a_call_for_the_application_stays_pending(play: Play) -> None:
    report = scripted(
        play,
        emits(
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "pick"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
        ),
    )
    assert report["runs"][0]["outcome"] == "success"
    assert report["runs"][0]["pendingToolCallIds"] == ["c"]


def test_state(play: Play) -> None:
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/list/-", "value": None}]}
    report = scripted(
        play,
        [
            *emits({"type": "STATE_SNAPSHOT", "snapshot": {"list": [1]}}, delta, delta),
            {"state": {"a/b~c": {"deep": [True]}}},
        ],
    )
    assert report["state"] == {"list": [1, None, None], "a/b~c": {"deep": [True]}}


def test_reasoning(play: Play) -> None:
    report = scripted(
        play,
        emits(
            {"type": "REASONING_START", "messageId": "s"},
            {"type": "REASONING_MESSAGE_START", "messageId": "t", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "t", "delta": "hm"},
            {"type": "REASONING_MESSAGE_END", "messageId": "t"},
            {"type": "REASONING_END", "messageId": "s"},
        ),
    )
    assert by_role(report, "reasoning") == [{"id": "t", "role": "reasoning", "content": "hm"}]


def test_what_an_agent_leaves_open_is_closed(play: Play) -> None:
    report = scripted(
        play,
        emits(
            {"type": "STEP_STARTED", "stepName": "one"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "unfinished"},
        ),
    )
    closings = types(report["runs"][0])[-3:]
    assert closings == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]


def test_activity_custom_and_unknown_events(play: Play) -> None:
    activity = {"messageId": "a", "activityType": "PLAN"}
    report = scripted(
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
    assert by_role(report, "activity")[0]["content"] == {"done": 1}
    assert types(report["runs"][0], "CUSTOM", "RAW") == ["CUSTOM", "RAW"]


@pytest.mark.parametrize(
    ("op", "code"),
    [({"raise": "secret"}, "agent_error"), ({"rubbish": "missing_field"}, "invalid_event")],
)
def test_an_agent_that_fails(play: Play, op: dict[str, Any], code: str) -> None:
    report = scripted(play, [{"text": "before"}, op])
    (run,) = report["runs"]
    assert run["error"]["code"] == code
    assert "secret" not in run["error"]["message"]
    assert types(run)[-1] == "RUN_ERROR"
    assert by_role(report, "assistant")[0]["content"] == "before"


def test_a_conversation_grows_by_what_is_new(play: Play) -> None:
    report = scripted(play, [{"text": "first"}, {"state": {"n": 1}}], [{"text": "second"}])
    assert [message["content"] for message in by_role(report, "assistant")] == ["first", "second"]
    assert report["state"] == {"n": 1}
    assert report["runs"][0]["runId"] != report["runs"][1]["runId"]


def test_interrupt_and_resume(play: Play) -> None:
    """The approval agent asks; the thread's second run brings the answer, and it acts."""
    first_run = play(
        {"messages": [user("delete report.txt")]},
        path="/agui/agent/approval/run",
        threadId="approval-js",
    )
    (run,) = first_run["runs"]
    assert first_run["console"] == []
    assert run["outcome"] == "interrupt"
    (question,) = first_run["pendingInterrupts"]
    assert question["responseSchema"]["required"] == ["approved"]

    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
    report = play(
        {"messages": first_run["messages"], "resume": [answer]},
        path="/agui/agent/approval/run",
        threadId="approval-js",
        state=first_run["state"],
    )
    (run,) = report["runs"]
    assert report["console"] == []
    assert run["outcome"] == "success"
    assert report["pendingInterrupts"] == []
    (done,) = report["state"]["ledger"]
    assert (done["action"], done["target"]) == ("delete", "report.txt")
    (call_of_the_first_run,) = (m for m in report["messages"] if m.get("toolCalls"))
    assert by_role(report, "tool")[0]["toolCallId"] == call_of_the_first_run["toolCalls"][0]["id"]


ADDRESSES = ["/agui", "/agui/", "/api/agui", "/api/agui/", "/", "/agui/agent/scripted/run"]


@pytest.mark.parametrize("path", [*ADDRESSES, "/api/agui/agent/scripted/run/"])
def test_every_address_answers_without_a_redirect(play: Play, path: str) -> None:
    run = call([{"text": "here"}])
    run["forwardedProps"]["agentId"] = "scripted"
    report = play(run, path=path)
    assert report["answers"] == [{"status": 200, "redirected": False}]
    assert by_role(report, "assistant")[0]["content"] == "here"
    assert report["console"] == []


def test_a_client_that_aborts_does_not_end_the_run(play: Play, host: Host) -> None:
    run = {**call([{"text": "word", "n": 40, "rate": 40}]), "abortAfter": 5}
    report = play(run, path="/agui/agent/scripted/run", threadId="aborted-js")
    assert types(report["runs"][0]).count("TEXT_MESSAGE_CONTENT") < 40

    with host.client() as client:
        listed = client.get("/api/v1/runs", params={"thread_id": "aborted-js"}).json()
    (stored,) = listed["results"]
    assert host.wait_status(stored["id"], "succeeded")["cancel_requested_at"] is None
    kinds = [entry["event"]["type"] for entry in host.events(stored["id"])]
    assert kinds.count("TEXT_MESSAGE_CONTENT") == 40
    assert kinds[-1] == "RUN_FINISHED"


def test_a_refusal_reaches_the_client_as_an_error(play: Play, host: Host) -> None:
    report = play({"messages": [user("hi")]}, path="/agui/agent/nobody/run")
    assert report["runs"][0]["rejected"]["status"] == 404
    report = play({"messages": [user("hi")]}, headers={"Authorization": "Bearer wrong"})
    assert report["runs"][0]["rejected"]["status"] == 401
    answer = httpx.post(f"{host.url}/agui", headers=host.headers, content=b"{")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_json")


def test_a_client_from_before_1_0(play: Play) -> None:
    script: list[dict[str, Any]] = [{"text": "still understood"}, {"state": {"n": 1}}]
    report = play(call(script), path="/agui/agent/scripted/run", client="ag-ui-client-0")
    assert "rejected" not in report["runs"][0]
    assert by_role(report, "assistant")[0]["content"] == "still understood"
    assert report["state"] == {"n": 1}
