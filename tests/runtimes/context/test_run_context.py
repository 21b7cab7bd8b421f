"""What each method of a RunContext puts on the wire, and what it reads from the input."""

import contextlib
from typing import Any

import pytest

from agui_host import RunContext
from tests.runtimes.playing import of, play, run_input, types


async def test_a_message() -> None:
    async def target(ctx: RunContext) -> None:
        async with ctx.message(role="system", id="m1", name="Host") as message:
            message.write("Hel")
            message.write("lo")

    assert await play(target) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "system", "name": "Host"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hel"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "lo"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    ]


async def test_a_tool_call_and_its_result() -> None:
    async def target(ctx: RunContext) -> None:
        with ctx.message(id="m1") as message:
            pass
        with ctx.tool_call("find", {"q": "é"}, id="c1", parent=message) as call:
            call.result({"hits": 2})
        with ctx.tool_call("find", id="c2") as call:
            call.write('{"q":')
            call.write('"b"}')
        call.result([{"type": "text", "text": "none"}])

    events = (await play(target))[2:]
    results = of(events, "TOOL_CALL_RESULT")
    assert [event for event in events if event not in results] == [
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "find",
         "parentMessageId": "m1"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"q":"é"}'},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "find"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c2", "delta": '{"q":'},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c2", "delta": '"b"}'},
        {"type": "TOOL_CALL_END", "toolCallId": "c2"},
    ]  # fmt: skip
    assert types(events)[2:4] == ["TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert [event["content"] for event in results] == [
        '{"hits":2}',
        [{"type": "text", "text": "none"}],
    ]


async def test_steps_reasoning_activities_and_custom_events() -> None:
    async def target(ctx: RunContext) -> None:
        with ctx.step("think"), ctx.reasoning(id="z") as thought:
            thought.write("hm")
        activity = ctx.activity("plan", {"done": 0}, id="a")
        activity.update([{"op": "replace", "path": "/done", "value": 1}])
        activity.update({"done": 2})
        ctx.custom("acme.note", None)

    plan = {"messageId": "a", "activityType": "plan"}
    assert await play(target) == [
        {"type": "STEP_STARTED", "stepName": "think"},
        {"type": "REASONING_START", "messageId": "z"},
        {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "z", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "z"},
        {"type": "REASONING_END", "messageId": "z"},
        {"type": "STEP_FINISHED", "stepName": "think"},
        {"type": "ACTIVITY_SNAPSHOT", **plan, "content": {"done": 0}},
        {"type": "ACTIVITY_DELTA", **plan, "patch": [
            {"op": "replace", "path": "/done", "value": 1}]},
        {"type": "ACTIVITY_SNAPSHOT", **plan, "content": {"done": 2}},
        {"type": "CUSTOM", "name": "acme.note", "value": None},
    ]  # fmt: skip


async def test_writing_outside_of_the_block_says_so() -> None:
    async def target(ctx: RunContext) -> None:
        with ctx.message() as message:
            pass
        message.write("late")

    with pytest.raises(RuntimeError, match="not open"):
        await play(target)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_step_that_an_exception_leaves_is_failed(asynchronous: bool) -> None:
    async def target(ctx: RunContext) -> None:
        with contextlib.suppress(ValueError):
            if asynchronous:
                async with ctx.step("wrong"):
                    raise ValueError("no")
            with ctx.step("wrong"):
                raise ValueError("no")
        with ctx.step("ask"):
            ctx.interrupt("confirmation", "Sure?", id="i1")

    failed, interrupted = of(await play(target), "STEP_FINISHED")
    failure = {"metadata": {"status": "failed"}}
    assert failed == {"type": "STEP_FINISHED", "stepName": "wrong"} | failure
    assert interrupted == {"type": "STEP_FINISHED", "stepName": "ask"}, "a question is no failure"


async def test_an_interrupt_ends_the_agent_at_once() -> None:
    async def target(ctx: RunContext) -> None:
        try:
            with ctx.step("ask"):
                ctx.interrupt("confirmation", "Sure?", {"type": "object"}, "c1", id="i1")
        except Exception:
            pytest.fail("an interrupt is no error")
        ctx.custom("never", 1)

    events = await play(target)
    assert types(events) == ["STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED"]
    asked_for = {"id": "i1", "reason": "confirmation", "message": "Sure?", "toolCallId": "c1",
                 "responseSchema": {"type": "object"}}  # fmt: skip
    assert events[-1]["outcome"] == {"type": "interrupt", "interrupts": [asked_for]}


@pytest.mark.parametrize("blocking", [True, False])
async def test_several_interrupts_wait_for_each_other(blocking: bool) -> None:
    def ask(ctx: RunContext) -> None:
        assert ctx.interrupt("input_required", "Name?", id="i1", wait=True) == "i1"
        ctx.interrupt("input_required", "Age?", id="i2")

    async def ask_async(ctx: RunContext) -> None:
        ask(ctx)

    (finished,) = await play(ask if blocking else ask_async)
    assert [entry["id"] for entry in finished["outcome"]["interrupts"]] == ["i1", "i2"]


async def test_usage_adds_up_per_model_and_the_result_is_told() -> None:
    async def target(ctx: RunContext) -> None:
        ctx.usage(model="a", provider="p", input_tokens=1, output_tokens=2)
        ctx.usage(model="a", provider="p", input_tokens=3)
        ctx.usage(model="b", reasoning_tokens=4)
        ctx.result = 0

    assert await play(target) == [
        {
            "type": "RUN_FINISHED",
            "threadId": "t",
            "runId": "r",
            "result": 0,
            "usage": [
                {"provider": "p", "model": "a", "inputTokens": 4, "outputTokens": 2},
                {"model": "b", "reasoningTokens": 4},
            ],
        }
    ]
    with pytest.raises(TypeError, match="input_tokens"):
        RunContext(run_input()).usage(tokens=1)


def test_what_came_in() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    answer = {"interruptId": "i", "status": "resolved", "payload": 1}
    ctx = RunContext(
        run_input(parts, parentRunId="p", tools=None, resume=[answer], forwardedProps={"x": 1}),
        settings={"tone": "dry"},
        team="team",
    )
    assert (ctx.thread_id, ctx.run_id, ctx.parent_run_id) == ("t", "r", "p")
    assert (ctx.text, ctx.tools, ctx.context, ctx.forwarded_props) == ("a\nb", [], [], {"x": 1})
    assert ctx.resumed() == ctx.resumed("i") == answer
    assert ctx.resumed("other") is None
    assert ctx.settings == {"tone": "dry"}
    assert RunContext({"threadId": "t", "runId": "r"}).text == ""


def test_the_input_as_the_sdks_object() -> None:
    ctx = RunContext(run_input("hi", state=None, forwardedProps=None))
    assert ctx.input.thread_id == "t"
    assert ctx.input.messages[0].content == "hi"
    assert ctx.input.tools == []


START: dict[str, Any] = {"count": 1}


@pytest.mark.parametrize("body", [{}, {"state": None}, {"state": {}}])
async def test_a_default_state_is_told_first(body: dict[str, Any]) -> None:
    async def target(ctx: RunContext) -> None:
        ctx.state["count"] += 1

    events = await play(target, run_input("x", **body), default_state=START)
    assert events == [
        {"type": "STATE_SNAPSHOT", "snapshot": {"count": 1}},
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/count", "value": 2}]},
    ]
    assert START == {"count": 1}


async def test_the_clients_state_goes_before_the_default() -> None:
    async def target(ctx: RunContext) -> None:
        ctx.result = ctx.state.copy()

    (finished,) = await play(target, run_input("x", state={"count": 5}), default_state=START)
    assert finished["result"] == {"count": 5}
