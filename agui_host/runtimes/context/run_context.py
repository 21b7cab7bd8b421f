"""RunContext, which an agent gets, and Runtime, which runs one. Imports no Django."""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import Any, Literal, NoReturn, Protocol, overload

import structlog

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.effects import Effects
from agui_host.runtimes.context.files import RunFile, find
from agui_host.runtimes.context.inbox import Inbox
from agui_host.runtimes.context.log_lines import LINES, Line, LogLines
from agui_host.runtimes.context.outbox import Outbox, frozen
from agui_host.runtimes.context.person import Person
from agui_host.runtimes.context.recovering import Recovering
from agui_host.runtimes.context.spans import (
    Activity,
    Message,
    Reasoning,
    Span,
    Step,
    ToolCall,
    new_id,
    put_result,
)
from agui_host.runtimes.context.spawn import ChildRun, Spawn
from agui_host.runtimes.context.state import State, StateList, StateMap

USAGE_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "total_tokens": "totalTokens",
    "reasoning_tokens": "reasoningTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}


class Runtime(Protocol):
    """Turns one RunContext into an ordered stream of AG-UI events.

    Events are dicts in wire form (camelCase) or ag_ui SDK objects. A runtime can leave out
    RUN_STARTED and RUN_FINISHED; an exception from the iterator ends the run with RUN_ERROR, and
    closing the iterator (or cancelling the task that reads it) stops the agent.
    """

    kind: str

    def run(self, ctx: "RunContext") -> AsyncGenerator[Any, None]:
        """Run the agent once."""
        ...


class Interrupted(BaseException):
    """Ends an agent after ``ctx.interrupt``; no Exception, so ``except Exception`` ignores it."""


class RunContext(Recovering):
    """One run, as its agent sees it: the input, and the methods that emit events.

    ``body`` is the RunAgentInput in wire form, ``agent`` the slug, ``settings`` the agent's own,
    ``team`` an opaque id, ``person`` the end user for whom a key started it. Emitting never blocks
    an async agent; an agent that emits thousands of events without an ``await`` in between should
    call ``await ctx.drain()`` now and then.
    """

    def __init__(
        self,
        body: dict[str, Any],
        *,
        agent: str = "",
        settings: Mapping[str, Any] | None = None,
        team: str = "",
        default_state: Any = None,
        spawn: Spawn | None = None,
        files: Iterable[RunFile] = (),
        effects: Effects | None = None,
        person: Person | None = None,
    ) -> None:
        super().__init__(body, effects)
        self.agent = agent
        self.settings: dict[str, Any] = dict(settings or {})
        self.team = team
        self.default_state = default_state
        self.person = person
        self._spawn = spawn
        self.files = list(files)
        self.result: Any = None
        self.outbox = Outbox()
        self.inbox = Inbox(self.outbox)
        self.log_lines: deque[Line] = deque(maxlen=LINES)
        self._interrupts: list[dict[str, Any]] = []
        self._usage: dict[tuple[str | None, str | None], dict[str, Any]] = {}
        self.on_usage: Callable[[], None] | None = None

    @cached_property
    def log(self) -> Any:
        """A structlog logger that names the run; never reaches clients."""
        logger = structlog.get_logger("runtimes.agent")
        bound = logger.bind(agent=self.agent, thread=self.thread_id, run=self.run_id)
        return LogLines(bound, self.log_lines)

    @property
    def cancelled(self) -> bool:
        """True once the run is stopped: for agents in a thread, which nothing can interrupt."""
        return self.outbox.cancelled

    # --- what goes out

    def message(
        self, role: str = "assistant", id: str | None = None, name: str | None = None
    ) -> Message:
        """``with ctx.message() as message: message.write("…")``."""
        return Message(self.outbox, id, role, name)

    def tool_call(
        self,
        name: str,
        args: Any = None,
        id: str | None = None,
        parent: Span | str | None = None,
    ) -> ToolCall:
        """``with ctx.tool_call("search", {"q": "…"}) as call: …``, then ``call.result(…)``.

        ``args``: any JSON or its text; leave it out to ``write`` fragments. ``parent``: the
        assistant message (or its id) that makes the call.
        """
        return ToolCall(
            self.outbox, id, name, args, parent.id if isinstance(parent, Span) else parent
        )

    def tool_result(self, tool_call_id: str, content: Any) -> str:
        """The result of a call of an earlier run (an approved one); returns the message's id."""
        return put_result(self.outbox, tool_call_id, content)

    def step(self, name: str) -> Step:
        """``with ctx.step("search"): …``."""
        return Step(self.outbox, name)

    def reasoning(self, id: str | None = None) -> Reasoning:
        """``with ctx.reasoning() as thought: thought.write("…")``."""
        return Reasoning(self.outbox, id)

    def activity(self, type: str, content: dict[str, Any], id: str | None = None) -> Activity:
        """Show an activity; ``update`` it by a dict (new content) or a list (JSON Patch)."""
        return Activity(self.outbox, id, type, content)

    def custom(self, name: str, value: Any) -> None:
        """An application event; begin the name with your own prefix."""
        self.emit({"type": "CUSTOM", "name": name, "value": value})

    def emit(self, event: Any) -> None:
        """Any AG-UI event, as a dict in wire form or an SDK object."""
        self.outbox.put(frozen(event))

    async def drain(self) -> None:
        """Wait until the events emitted so far are being written."""
        await self.outbox.room()

    # --- uploaded files

    def file(self, which: str | dict[str, Any]) -> RunFile:
        """``data = await ctx.file(part).read()``: an uploaded file that a message refers to.

        ``which``: a message's part, its source, or the file's id; ``ctx.files`` has all of them. A
        plain function calls ``read_now()``. Raises UnknownFile, a LookupError.
        """
        return find(self.files, which)

    # --- other agents

    def spawn(self, agent: str, input: Mapping[str, Any]) -> AbstractAsyncContextManager[ChildRun]:
        """``async with ctx.spawn("writer", {"messages": [...]}) as child: await child.end()``.

        Starts a run of another agent of the team, in a new thread; ``input`` is a
        RunAgentInput in wire form, all of it optional. ``threadId`` can name the thread of an
        earlier child of this conversation. Leaving the block cancels a child that has not ended,
        and so does whatever ends this run. Raises RunFailed if it cannot be started.
        """
        if self._spawn is None:
            raise RunFailed(RunErrorCode.AGENT_ERROR, "This agent cannot start other agents here.")
        return self._spawn(agent, input)

    # --- the state

    @cached_property
    def _state(self) -> State:
        initial = self.body.get("state")
        if initial in (None, {}) and self.default_state is not None:
            return State(self.default_state, self.outbox.put, known=False)
        missing = "state" not in self.body
        return State(
            {} if missing else initial, self.outbox.put, known=missing or initial is not None
        )

    @property
    def state(self) -> StateMap:
        """The run's state as nested dicts and lists; every change is sent as a STATE_DELTA."""
        root: StateMap | StateList = self._state.root()
        return root  # type: ignore[return-value]  # a list only where the client sent one

    @state.setter
    def state(self, value: Any) -> None:
        """Replace the whole state."""
        if not (isinstance(value, StateMap | StateList) and value.data is self._state.value):
            self._state.replace(value)

    def announce_state(self) -> None:
        """Send the agent's default state if the run starts from it; the runtime calls this."""
        if self.default_state is not None and self.body.get("state") in (None, {}):
            self._state.snapshot()

    # --- how it ends

    @overload
    def interrupt(
        self,
        reason: str,
        message: str | None = None,
        response_schema: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        expires_at: str | None = None,
        metadata: dict[str, Any] | None = None,
        id: str | None = None,
        *,
        wait: Literal[False] = False,
    ) -> NoReturn: ...

    @overload
    def interrupt(
        self,
        reason: str,
        message: str | None = None,
        response_schema: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        expires_at: str | None = None,
        metadata: dict[str, Any] | None = None,
        id: str | None = None,
        *,
        wait: Literal[True],
    ) -> str: ...

    def interrupt(
        self,
        reason: str,
        message: str | None = None,
        response_schema: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        expires_at: str | None = None,
        metadata: dict[str, Any] | None = None,
        id: str | None = None,
        *,
        wait: bool = False,
    ) -> str:
        """Ask, and end the run with the question; the answer comes as ``resume`` of a later run.

        Ends the agent at once. With ``wait=True`` the agent continues (to ask more, or to say
        something) and the run ends with all its questions when it returns. Returns the id.
        """
        fields = {
            "id": id or new_id(),
            "reason": reason,
            "message": message,
            "responseSchema": response_schema,
            "toolCallId": tool_call_id,
            "expiresAt": expires_at,
            "metadata": metadata,
        }
        question = {name: value for name, value in fields.items() if value is not None}
        self._interrupts.append(frozen(question))
        if not wait:
            raise Interrupted
        return str(question["id"])

    def usage(
        self, *, model: str | None = None, provider: str | None = None, **counts: int
    ) -> None:
        """Count tokens; calls for one provider and model add up.

        ``input_tokens``, ``output_tokens``, ``total_tokens``, ``reasoning_tokens``,
        ``cached_input_tokens``, ``cache_write_input_tokens``; a count that is left out is unknown,
        not 0.
        """
        entry = self._usage.setdefault((provider, model), {})
        entry |= {"provider": provider} if provider else {}
        entry |= {"model": model} if model else {}
        for name, count in counts.items():
            if name not in USAGE_COUNTS:
                raise TypeError(
                    f"usage() does not count {name}; it counts {', '.join(USAGE_COUNTS)}"
                )
            entry[USAGE_COUNTS[name]] = entry.get(USAGE_COUNTS[name], 0) + count
        if self.on_usage is not None:
            self.on_usage()

    @property
    def used(self) -> list[dict[str, Any]]:
        """The usage so far, one entry per provider and model."""
        return [dict(entry) for entry in self._usage.values()]

    def spent(self) -> dict[str, Any]:
        """The usage so far, as members of an end that the agent did not make itself."""
        counts = [
            {
                name: value for name, value in dict(entry).items()
                if isinstance(value, str) or (isinstance(value, int) and value >= 0)
            }
            for entry in list(self._usage.values())
        ]  # fmt: skip
        return {"usage": counts} if counts else {}

    def ending(self) -> dict[str, Any] | None:
        """The RUN_FINISHED with the context's interrupts, result and usage; None without any."""
        members: dict[str, Any] = {}
        if self._interrupts:
            members["outcome"] = {"type": "interrupt", "interrupts": self._interrupts}
        if self.result is not None:
            members["result"] = self.result
        if self._usage:
            members["usage"] = list(self._usage.values())
        if not members:
            return None
        ids = {"threadId": self.thread_id, "runId": self.run_id}
        return {"type": "RUN_FINISHED", **ids, **members}
