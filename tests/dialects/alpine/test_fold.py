"""Alpine's dialect as a fold: what each event of AG-UI becomes there, also for late readers."""

from collections.abc import Iterable
from typing import Any

import pytest

from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.alpine.schema import EXTENSIONS, problem
from agui_host.protocol.wire.durations import seconds, text_of

Events = list[dict[str, Any]]
INPUT = {
    "messages": [{"id": "u", "role": "user", "content": "Fix it"}],
    "state": {"todo": ["a"]},
    "forwardedProps": {"alpine": {"task": "Fix it", "planMode": True, "worktreeDir": "/w"}},
}
STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": INPUT}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
TEXT = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]


def step(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "STEP_STARTED", "stepName": name, **more}


def stepped(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "STEP_FINISHED", "stepName": name, **more}


def timed(*events: dict[str, Any]) -> Events:
    """A second and a half between each and the next."""
    return [{"timestamp": 1_500 * at, **event} for at, event in enumerate(events)]


def frames_of(events: Iterable[dict[str, Any]], fold: Alpine | None = None) -> Events:
    """The frames of a log, each of them valid."""
    fold = fold or Alpine("run")
    frames = [frame for event in events for frame in fold.feed(event)]
    assert [problem(frame) for frame in frames if problem(frame)] == []
    return frames


def names(frames: Events) -> list[str]:
    return [frame["type"] for frame in frames]


def test_a_workflow_of_two_steps() -> None:
    log = timed(STARTED, step("plan"), *TEXT, stepped("plan"), step("do"), stepped("do"), FINISHED)
    frames = frames_of(log)
    assert frames[0] == {
        "type": "run_started",
        "runId": "run",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "metadata": {
            "task": "Fix it",
            "planMode": True,
            "worktreeDir": "/w",
            "schemaVersion": "1.0",
            "capabilities": list(EXTENSIONS),
        },
    }
    steps = [(f["stepId"], f["stepNumber"], f["description"]) for f in frames if "stepNumber" in f]
    assert steps == [("step-1", 1, "plan"), ("step-2", 2, "do")]
    ends = [
        (f["stepId"], f["status"], f["duration"]) for f in frames if f["type"] == "step_finished"
    ]
    assert ends == [("step-1", "completed", "7.5s"), ("step-2", "completed", "1.5s")]
    contents = [(f["content"], f["delta"]) for f in frames if f["type"] == "text_message_content"]
    assert contents == [("Hel", True), ("lo", True)]
    assert frames[-1]["result"] == {"status": "completed", "stepCount": 2, "duration": "13.5s"}


def test_a_step_that_comes_again_has_a_number_of_its_own() -> None:
    frames = frames_of(timed(STARTED, step("a"), stepped("a"), step("a"), stepped("a")))
    assert [f["stepId"] for f in frames[1:]] == ["step-1", "step-1", "step-2", "step-2"]


def test_who_speaks() -> None:
    by_host = {"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "system"}
    assert [frames_of([e])[0]["source"] for e in (TEXT[0], by_host)] == ["claude", "alpine"]


def test_an_error_names_its_step_and_closes_what_a_lost_worker_left_open() -> None:
    error = {"type": "RUN_ERROR", "message": "gone", "code": "worker_lost"}
    frames = frames_of(timed(STARTED, step("plan"), *TEXT[:2], error))
    assert names(frames[-3:]) == ["text_message_end", "step_finished", "run_error"]
    assert frames[-3]["complete"] is False
    assert (frames[-2]["status"], frames[-2]["duration"]) == ("failed", "4.5s")
    assert frames[-1]["error"] == {"message": "gone", "code": "worker_lost", "step": 1}


def test_a_step_that_was_cut_has_failed() -> None:
    cut = stepped("plan", metadata={"status": "failed"})
    frames = frames_of(timed(STARTED, step("plan"), cut, {"type": "RUN_ERROR", "message": "no"}))
    assert frames[-2]["status"] == "failed"


def test_a_cancelled_run_is_no_success() -> None:
    frames = frames_of([STARTED, {**FINISHED, "outcome": {"type": "cancelled"}}])
    assert frames[-1]["type"] == "run_error"
    assert frames[-1]["error"]["code"] == "cancelled"


class TestState:
    def test_the_workflows_members_and_the_agents_own(self) -> None:
        snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"nextStepPrompt": "go", "x": [1]}}
        frames = frames_of([STARTED, step("plan"), snapshot])
        assert frames[-1]["state"] == {
            "status": "running",
            "currentStep": 1,
            "stepDescription": "plan",
            "nextStepPrompt": "go",
            "workingDirectory": "/w",
            "x": [1],
        }

    def test_a_member_of_another_kind_does_not_break_the_documents(self) -> None:
        snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"status": 7, "currentStep": "x"}}
        state = frames_of([snapshot])[-1]["state"]
        assert (state["status"], state["currentStep"]) == ("running", 0)

    def test_a_delta_is_told_as_it_is_behind_the_state_that_it_changes(self) -> None:
        delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/todo/1", "value": "b"}]}
        frames = frames_of([STARTED, delta, delta])
        assert names(frames) == ["run_started", "state_snapshot", "state_delta"]
        assert frames[1]["state"]["todo"] == ["a", "b"]
        assert frames[2]["delta"] == delta["delta"]

    @pytest.mark.parametrize(
        "patch",
        [
            [{"op": "move", "from": "/todo", "path": "/done"}],
            [{"op": "replace", "path": "", "value": {"done": ["a"]}}],
        ],
    )
    def test_other_operations_come_as_the_state_that_results(self, patch: Events) -> None:
        log = [STARTED, {"type": "STATE_SNAPSHOT", "snapshot": {"todo": ["a"]}}]
        frames = frames_of([*log, {"type": "STATE_DELTA", "delta": patch}])
        assert frames[-1]["type"] == "state_snapshot"
        assert frames[-1]["state"]["done"] == ["a"]

    def test_a_state_that_is_no_object(self) -> None:
        frames = frames_of([{"type": "STATE_SNAPSHOT", "snapshot": [1]}])
        assert frames[0]["state"]["value"] == [1]

    def test_what_was_told_does_not_change_afterwards(self) -> None:
        snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"todo": ["a"]}}
        delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/todo/-", "value": "b"}]}
        assert frames_of([snapshot, delta])[0]["state"]["todo"] == ["a"]


CALL: Events = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "grep"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "m2", "content": "3 hits"},
]


def test_tool_calls() -> None:
    frames = frames_of([STARTED, *CALL])
    assert names(frames[1:]) == [
        "tool_call_start", "tool_call_args", "tool_call_end", "tool_call_result",
    ]  # fmt: skip
    assert (frames[1]["toolName"], frames[4]["content"]) == ("grep", "3 hits")


@pytest.mark.parametrize(
    ("interrupt", "name"),
    [
        ({"reason": "approval"}, "approval_request"),
        ({"reason": "tool", "toolCallId": "c"}, "approval_request"),
        ({"reason": "plan_review"}, "plan_modification_request"),
        ({"reason": "Feedback"}, "feedback_request"),
        ({"reason": "which one"}, "input_request"),
    ],
)
def test_questions_come_before_the_end_that_waits_for_their_answers(
    interrupt: dict[str, Any], name: str
) -> None:
    question = {"id": "i", "message": "Well?", **interrupt}
    end = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [question]}}
    frames = frames_of([STARTED, end])
    assert names(frames[1:]) == [name, "run_finished"]
    assert (frames[1]["requestId"], frames[1]["message"]) == ("i", "Well?")
    assert frames[2]["result"]["status"] == "interrupted"


def test_several_agents() -> None:
    mine = {"subagentRunId": "s"}
    frames = frames_of(
        [
            {"type": "SUBAGENT_STARTED", "name": "legal", **mine},
            {**TEXT[0], **mine},
            *TEXT[1:],
            {"type": "SUBAGENT_FINISHED", **mine},
            {"type": "SUBAGENT_ERROR", "message": "no", **mine},
        ]
    )
    assert [names(frames)[0], *names(frames)[-2:]] == [
        "agent_started", "agent_finished", "agent_error",
    ]  # fmt: skip
    assert {frame["agentId"] for frame in frames} == {"s"}


@pytest.mark.parametrize(
    ("custom", "name"),
    [
        ("feedback", "feedback"),
        ("alpine.plan_modification", "plan_modification"),
        ("agent_message", "agent_message"),
        ("alpine.resource", "resource"),
        ("run_finished", "custom"),
    ],
)
def test_custom_events(custom: str, name: str) -> None:
    (frame,) = frames_of([{"type": "CUSTOM", "name": custom, "value": None}])
    assert (frame["type"], frame["value"]) == (name, None)


def test_a_client_gets_only_the_extensions_that_it_understands() -> None:
    custom = {"type": "CUSTOM", "name": "x", "value": 1}
    log = [STARTED, *CALL, custom, {**TEXT[0], "subagentRunId": "s"}]
    frames = frames_of(log, Alpine("run", ["custom"]))
    assert names(frames) == ["run_started", "custom", "text_message_start"]
    assert frames[0]["metadata"]["capabilities"] == ["custom"]
    assert "agentId" not in frames[2]


def test_what_has_no_place_there_is_left_out() -> None:
    assert (
        frames_of([{"type": "REASONING_START", "messageId": "m"}, {"type": "RAW", "event": {}}])
        == []
    )


def test_who_begins_in_the_middle_is_told_what_is_open() -> None:
    fold = Alpine("run")
    frames_of(timed(STARTED, step("plan"), *TEXT[:3], *CALL[:2]), fold)
    frames = fold.opening()
    assert [problem(frame) for frame in frames] == [None] * len(frames)
    assert names(frames) == [
        "run_started", "state_snapshot", "step_started", "text_message_start",
        "text_message_content", "tool_call_start", "tool_call_args",
    ]  # fmt: skip
    assert (frames[4]["content"], frames[4]["delta"]) == ("Hello", False)
    assert frames[1]["state"]["todo"] == ["a"]
    assert fold.feed({**TEXT[3], "timestamp": 9_000})[0]["complete"] is True


def test_nothing_is_open_before_the_beginning() -> None:
    assert Alpine("run").opening() == []


def test_a_timestamp_of_no_calendar_is_not_believed() -> None:
    frames = frames_of([{**STARTED, "timestamp": 1_000}, {**step("a"), "timestamp": 2**53 - 1}])
    assert frames[0]["timestamp"] == frames[1]["timestamp"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"type": "run_begun"}, "invalid event type"),
        ({"runId": ""}, "runId is required"),
        ({"timestamp": ""}, "timestamp is required"),
        ({"messageId": ""}, "messageId is required"),
        ({"content": 3}, "content is not text"),
        ({"delta": None}, "delta is not bool"),
    ],
)
def test_what_is_invalid(change: dict[str, Any], why: str) -> None:
    good = frames_of([TEXT[1]])[0]
    assert problem(good) is None
    assert why in str(problem({**good, **change}))
    assert problem({key: value for key, value in good.items() if key not in change})


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0s"), (-5, "0s"), (250, "250ms"), (1_000, "1s"), (1_500, "1.5s"), (90_000, "1m30s"),
     (3_605_000, "1h0m5s")],
)  # fmt: skip
def test_durations(milliseconds: int, text: str) -> None:
    assert text_of(milliseconds) == text
    assert seconds(text) == max(milliseconds, 0) / 1_000


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1s 2s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds(text)
