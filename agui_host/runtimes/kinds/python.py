"""The ``python`` kind: agents that are code in this process."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.schema import TERMINAL
from agui_host.runtimes import registry
from agui_host.runtimes.context.outbox import HIGH, Outbox, frozen
from agui_host.runtimes.context.run_context import Interrupted, RunContext
from agui_host.runtimes.context.threads import in_thread

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent

CANCEL_GRACE = 2.0  # seconds an agent may take to stop before the run continues without it
_left_behind: set[asyncio.Task[None]] = set()  # the loop itself holds tasks only weakly


class PythonRuntime:
    """Runs one registered agent of any kind as one ordered stream of events."""

    kind = "python"

    def __init__(self, registered: registry.Registered) -> None:
        self._registered = registered

    @classmethod
    def of(cls, row: "Agent") -> "PythonRuntime":
        """The runtime of an Agent row: its target, or else its slug, names the code."""
        return cls(registry.get(row.target or row.slug))

    async def run(self, ctx: RunContext) -> AsyncGenerator[Any, None]:
        """The agent's yielded events and those emitted through ``ctx``, at once and in order.

        Ends with an added RUN_FINISHED only if there is an interrupt, a result or usage. Raises the
        agent's exception, after the events before it.
        """
        outbox, last = ctx.outbox, None
        queue = outbox.queue
        outbox.open()
        ctx.effects.open()
        if ctx.default_state is None:
            ctx.default_state = deep_copy(self._registered.default_state)
        task = asyncio.create_task(self._drive(ctx), name=f"agent {ctx.agent} {ctx.run_id}")
        try:
            while await outbox.more():
                while queue:
                    last = queue.popleft()
                    yield last
            if outbox.failure is not None:
                raise outbox.failure
            ending = ctx.ending()
            if ending is not None and _type_of(last) not in TERMINAL:
                yield ending
        finally:
            if not task.done():
                await _stop(task, ctx)

    async def _drive(self, ctx: RunContext) -> None:
        """The agent's own task; keeps its exception, so that earlier events are sent first."""
        outbox = ctx.outbox
        try:
            ctx.announce_state()
            await _play(self._registered.target, ctx)
        except Interrupted:
            pass
        except asyncio.CancelledError:
            if outbox.cancelled:
                raise
            outbox.failure = outbox.failure or RunFailed(
                RunErrorCode.AGENT_ERROR, "The agent cancelled itself."
            )
        except Exception as error:
            outbox.failure = outbox.failure or error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # exit() in an agent would end the worker's other runs
            outbox.failure = RuntimeError(f"the agent raised {type(error).__name__}: {error}")
        finally:
            outbox.end_text()
            outbox.over = True
            outbox.wake()


async def _stop(task: asyncio.Task[None], ctx: RunContext) -> None:
    ctx.outbox.cancel()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=CANCEL_GRACE)
    if not done:
        ctx.log.warning("agent does not stop; going on without it", seconds=CANCEL_GRACE)
        _left_behind.add(task)
        task.add_done_callback(_left_behind.discard)


def _type_of(event: Any) -> Any:
    kind = event.get("type") if isinstance(event, dict) else getattr(event, "type", None)
    return getattr(kind, "value", kind)


# --- the kinds of callable


async def _play(target: Any, ctx: RunContext) -> None:
    """Call the agent according to its kind, and take its output."""
    if inspect.isclass(target):
        target = target()
    is_object = not inspect.isroutine(target) and hasattr(target, "run")
    call = target.run if is_object else target
    argument = ctx.input if _wants_input(call, default=is_object) else ctx
    if (is_object and not inspect.isgeneratorfunction(call)) or _is_async(call):
        await _take(call(argument), ctx)
    else:
        await _take(await _in_thread(lambda: _play_in_thread(call, argument, ctx.outbox)), ctx)


async def _take(value: Any, ctx: RunContext) -> None:
    """An iterator's items are events or text; a value returned is text, or the run's result."""
    if inspect.isawaitable(value):
        value = await value
    if hasattr(value, "__aiter__"):
        await _pump(value, ctx.outbox)
    elif isinstance(value, str):
        ctx.outbox.text(value)
    elif hasattr(value, "__next__"):
        await _in_thread(lambda: _pump_in_thread(value, ctx.outbox))
    elif value is not None:
        ctx.result = value


async def _pump(items: Any, outbox: Outbox) -> None:
    """The hot path: about a microsecond for each event."""
    queue, items = outbox.queue, aiter(items)
    try:
        async for item in items:
            # An SDK adapter begins with RUN_STARTED; too late if the agent emitted before.
            if not (outbox.spoke and _type_of(item) == "RUN_STARTED"):
                outbox.write(item)
            break
        async for item in items:
            if item.__class__ is dict and outbox.text_id is None and not outbox.cancelled:
                queue.append(frozen(item))
                if outbox.waiter is not None:
                    outbox.wake()
            else:
                outbox.write(item)
            if len(queue) >= HIGH:
                await outbox.room()
    finally:
        if hasattr(items, "aclose"):
            await items.aclose()


def _play_in_thread(call: Callable[[Any], Any], argument: Any, outbox: Outbox) -> Any:
    value = call(argument)
    if not hasattr(value, "__next__"):
        return value
    _pump_in_thread(value, outbox)
    return None


def _pump_in_thread(items: Iterator[Any], outbox: Outbox) -> None:
    try:
        for item in items:
            outbox.write(item)
    finally:
        if inspect.isgenerator(items):
            items.close()


async def _in_thread(work: Callable[[], Any]) -> Any:
    return await in_thread(work, _close_connections)


def _close_connections() -> None:
    from django.conf import settings
    from django.db import connections

    if settings.configured:
        connections.close_all()


def _is_async(call: Any) -> bool:
    known = call if inspect.isroutine(call) or not callable(call) else _unwrapped(call)
    return inspect.isasyncgenfunction(known) or inspect.iscoroutinefunction(known)


def _unwrapped(call: Any) -> Any:
    return getattr(call, "func", None) or type(call).__call__


def _wants_input(call: Any, *, default: bool) -> bool:
    """Whether the agent's parameter is a RunAgentInput rather than a RunContext."""
    try:
        parameter = next(iter(inspect.signature(call).parameters.values()))
    except (StopIteration, TypeError, ValueError):
        return default
    named = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    if "RunAgentInput" in named or "RunContext" in named:
        return "RunAgentInput" in named
    return parameter.name in ("input", "run_input") or (default and parameter.name != "ctx")
