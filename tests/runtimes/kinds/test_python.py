"""One suite over every kind of agent the python runtime takes."""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import CustomEvent, RunAgentInput

from agui_host import RunContext
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.outbox import FLOOD, HIGH
from agui_host.runtimes.kinds import python
from tests.runtimes.playing import play, run_input, runtime, text_of, types

PING = {"type": "CUSTOM", "name": "ping", "value": 1}
TEXT = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


async def async_generator(ctx: RunContext) -> AsyncIterator[Any]:
    yield ctx.text
    yield PING


def generator(ctx: RunContext) -> Iterator[Any]:
    yield ctx.text
    yield PING


async def coroutine(ctx: RunContext) -> None:
    with ctx.message() as message:
        message.write(ctx.text)
    ctx.emit(PING)


def function(ctx: RunContext) -> None:
    with ctx.message() as message:
        message.write(ctx.text)
    ctx.emit(CustomEvent(name="ping", value=1))


async def of_input(input: RunAgentInput) -> AsyncIterator[Any]:
    yield str(input.messages[-1].content)
    yield PING


class Object:
    async def run(self, input: RunAgentInput) -> AsyncIterator[Any]:
        yield str(input.messages[-1].content)
        yield CustomEvent(name="ping", value=1)


class BlockingObject:
    def run(self, input: Any) -> Iterator[Any]:
        yield str(input.messages[-1].content)
        yield PING


class Callable:
    async def __call__(self, ctx: RunContext) -> AsyncIterator[Any]:
        yield ctx.text
        yield PING


def returns_an_iterator(ctx: RunContext) -> AsyncIterator[Any]:
    return async_generator(ctx)


AGENTS = [
    async_generator, generator, coroutine, function, of_input, Object(), Object, BlockingObject(),
    Callable(), functools.partial(async_generator), returns_an_iterator,
]  # fmt: skip


@pytest.mark.parametrize("target", AGENTS, ids=lambda target: getattr(target, "__name__", None))
async def test_every_kind_of_agent_gives_the_same_stream(target: Any) -> None:
    events = await play(target)
    assert types(events) == [*TEXT, "CUSTOM"]
    assert text_of(events) == "hello"
    assert len({event["messageId"] for event in events[:3]}) == 1
    assert events[3] == PING


@pytest.mark.parametrize("value", ["hello", None, {"rows": 3}])
async def test_what_a_function_returns_is_text_or_the_result(value: Any) -> None:
    def blocking(ctx: RunContext) -> Any:
        return value

    async def waiting(ctx: RunContext) -> Any:
        return value

    for target in (blocking, waiting):
        events = await play(target)
        if value is None:
            assert events == []
        elif isinstance(value, str):
            assert types(events) == TEXT
        else:
            ids = {"threadId": "t", "runId": "r"}
            assert events == [{"type": "RUN_FINISHED", **ids, "result": value}]


async def test_strings_go_on_in_one_message_until_another_event() -> None:
    async def target(ctx: RunContext) -> AsyncIterator[Any]:
        yield "a"
        yield ""
        yield "b"
        yield PING
        yield "c"
        with ctx.tool_call("look"):
            yield "d"

    assert types(await play(target)) == [
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
        "CUSTOM", *TEXT, "TOOL_CALL_START", *TEXT[:2], "TOOL_CALL_END", "TEXT_MESSAGE_END",
    ]  # fmt: skip


async def test_what_is_emitted_goes_out_while_the_agent_waits() -> None:
    go_on = asyncio.Event()

    async def target(ctx: RunContext) -> AsyncIterator[Any]:
        ctx.state["here"] = True
        await go_on.wait()
        yield "done"

    async with aclosing(runtime(target).run(RunContext(run_input()))) as stream:
        first = await anext(stream)
        assert first["delta"] == [{"op": "add", "path": "/here", "value": True}]
        go_on.set()
        assert types([event async for event in stream]) == TEXT


async def test_an_event_is_what_it_was_when_it_was_yielded() -> None:
    async def target(ctx: RunContext) -> AsyncIterator[Any]:
        state: dict[str, Any] = {"log": []}
        event = {"type": "STATE_SNAPSHOT", "snapshot": state}
        for number in range(3):
            state["log"].append(number)
            yield event

    snapshots = [event["snapshot"]["log"] for event in await play(target)]
    assert snapshots == [[0], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize("blocking", [True, False])
async def test_an_agent_is_not_run_further_than_its_reader_reads(blocking: bool) -> None:
    made, full = 0, threading.Event()

    def count(ctx: RunContext) -> Iterator[Any]:
        nonlocal made
        for made in range(1, 5_000):
            if made == HIGH:
                full.set()
            yield PING

    async def count_async(ctx: RunContext) -> AsyncIterator[Any]:
        for event in count(ctx):
            yield event

    target = count if blocking else count_async
    async with aclosing(runtime(target).run(RunContext(run_input()))) as stream:
        await anext(stream)
        await asyncio.to_thread(full.wait, 10)
        assert made <= HIGH + 2
        assert len([event async for event in stream]) == 4_998


async def test_emitting_without_drain_is_a_flood() -> None:
    async def flood(ctx: RunContext) -> None:
        for number in range(FLOOD + 1):
            ctx.custom("n", number)

    events: list[Any] = []
    with pytest.raises(RunFailed) as failed:
        await play(flood, into=events)
    assert failed.value.reason == RunErrorCode.EVENT_FLOOD
    assert [event["value"] for event in events] == list(range(FLOOD))


async def test_emitting_with_drain_is_none() -> None:
    async def much(ctx: RunContext) -> None:
        for number in range(FLOOD + 1_000):
            ctx.custom("n", number)
            await ctx.drain()

    assert len(await play(much)) == FLOOD + 1_000


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError("boom"), ValueError),
        (SystemExit(3), RuntimeError),
        (asyncio.CancelledError(), RunFailed),
        (StopIteration(), RuntimeError),
    ],
)
@pytest.mark.parametrize("blocking", [True, False])
async def test_what_an_agent_raises_comes_after_what_it_said(
    raised: BaseException, expected: type[Exception], blocking: bool
) -> None:
    def body(ctx: RunContext) -> None:
        with ctx.step("work"), ctx.message() as message:
            message.write("half")
            raise raised

    async def body_async(ctx: RunContext) -> None:
        body(ctx)

    events: list[Any] = []
    with pytest.raises(expected):
        await play(body if blocking else body_async, into=events)
    assert types(events) == ["STEP_STARTED", *TEXT, "STEP_FINISHED"]


async def test_cancelling_the_reader_cancels_the_agent_and_closes_it() -> None:
    closed: list[str] = []

    async def target(ctx: RunContext) -> AsyncIterator[Any]:
        try:
            with ctx.message() as message:
                message.write("…")
                yield PING
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            closed.append("cancelled")
            raise
        finally:
            closed.append("closed")

    reading = asyncio.Event()

    async def read() -> None:
        async with aclosing(runtime(target).run(RunContext(run_input()))) as stream:
            async for event in stream:
                if event == PING:
                    reading.set()

    task = asyncio.create_task(read())
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == ["cancelled", "closed"]


async def test_closing_the_stream_closes_a_generator_that_waits_for_room() -> None:
    closed = asyncio.Event()

    async def endless(ctx: RunContext) -> AsyncIterator[Any]:
        try:
            while True:
                yield PING
        finally:
            closed.set()

    async with aclosing(runtime(endless).run(RunContext(run_input()))) as stream:
        await anext(stream)
    assert closed.is_set()


async def test_a_thread_sees_that_it_is_cancelled() -> None:
    cancelled, ended = threading.Event(), threading.Event()

    def endless(ctx: RunContext) -> None:
        try:
            while not ctx.cancelled:
                ctx.emit(PING)
            cancelled.set()
        finally:
            ended.set()

    async with aclosing(runtime(endless).run(RunContext(run_input()))) as stream:
        await anext(stream)
    assert await asyncio.to_thread(ended.wait, 10)


async def test_an_agent_that_swallows_its_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(python, "CANCEL_GRACE", 0.01)
    stopped = asyncio.Event()

    async def stubborn(ctx: RunContext) -> None:
        ctx.emit(PING)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await stopped.wait()
        ctx.emit(PING)

    async with aclosing(runtime(stubborn).run(RunContext(run_input()))) as stream:
        await anext(stream)
    (task,) = python._left_behind
    stopped.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_adapters_run_started_gives_way_to_what_came_before() -> None:
    async def adapter(ctx: RunContext) -> AsyncIterator[Any]:
        yield {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
        yield {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}

    async def early(ctx: RunContext) -> AsyncIterator[Any]:
        ctx.state["a"] = 1
        ctx.usage(input_tokens=1)
        async for event in adapter(ctx):
            yield event

    assert types(await play(adapter)) == ["RUN_STARTED", "RUN_FINISHED"]
    assert types(await play(early)) == ["STATE_DELTA", "RUN_FINISHED"]


async def test_threads_of_an_async_agent_may_emit() -> None:
    async def target(ctx: RunContext) -> None:
        def work() -> None:
            for number in range(3_000):
                ctx.custom("n", number)

        await asyncio.to_thread(work)

    assert [event["value"] for event in await play(target)] == list(range(3_000))
