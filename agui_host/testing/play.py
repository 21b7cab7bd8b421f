"""Plays an agent once, through the same intake as a worker, and keeps its log."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agui_host.protocol import patient_json
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake import endings
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.schema import PROTOCOL_VERSION
from agui_host.runtimes import registry
from agui_host.runtimes.context.effects import Effects, Store
from agui_host.runtimes.context.inbox import InboxMessage
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.python import PythonRuntime

Wire = dict[str, Any]
SECONDS = 30.0


@dataclass(frozen=True)
class Played:
    """The log of one run, and its sum for a reader."""

    events: list[Wire]

    @cached_property
    def fold(self) -> Fold:
        """The whole log, folded as a client does it."""
        fold = Fold()
        for event in self.events:
            fold.feed(event)
        return fold

    @property
    def types(self) -> list[str]:
        """The type of each event."""
        return [event["type"] for event in self.events]

    @property
    def messages(self) -> list[Wire]:
        """The conversation with the messages of the input, in wire form."""
        return self.fold.messages

    @property
    def text(self) -> str:
        """The texts of the assistant, joined by blank lines."""
        texts = [m.get("content") for m in self.messages if m["role"] == "assistant"]
        return "\n\n".join(text for text in texts if text)

    @property
    def state(self) -> Any:
        """The state at the end."""
        return self.fold.state

    @property
    def end(self) -> Wire:
        """The terminal event."""
        return self.events[-1]

    @property
    def result(self) -> Any:
        """The result of RUN_FINISHED, or None."""
        return self.end.get("result")

    @property
    def error(self) -> str | None:
        """The message of RUN_ERROR; None if the run finished."""
        return self.end.get("message") if self.end["type"] == "RUN_ERROR" else None

    @property
    def interrupts(self) -> list[Wire]:
        """The questions with which the run ended."""
        questions: list[Wire] = (self.end.get("outcome") or {}).get("interrupts", [])
        return questions

    def calls(self, name: str | None = None) -> list[Wire]:
        """The tool calls, or those of one tool: ``{id, function: {name, arguments}}``."""
        calls = [call for m in self.messages for call in m.get("toolCalls", ())]
        return [call for call in calls if name in (None, call["function"]["name"])]


def run(
    agent: Any,
    input: str | Mapping[str, Any] = "",
    *,
    inbox: Sequence[str | Mapping[str, str]] = (),
    settings: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
    effects: Store | None = None,
) -> Played:
    """Play an agent to its end.

    ``agent``: the slug of a registered agent, or its code. ``input``: a RunAgentInput in wire form,
    all of it optional, or the text of one message. ``inbox``: what ``ctx.inbox`` has from the
    start. An agent that takes longer than ``seconds`` ends with RUN_ERROR ``timeout``. ``effects``
    are those that ``ctx.once`` finds.
    """
    store = None if effects is None else Effects(effects)
    ctx = RunContext(_body(input), agent=_slug(agent), settings=settings, effects=store)
    ctx.inbox.deliver(_inbox(inbox))
    return Played(asyncio.run(_play(_registered(agent), ctx, seconds)))


async def _play(registered: registry.Registered, ctx: RunContext, seconds: float) -> list[Wire]:
    intake, events = Intake(ctx.thread_id, ctx.run_id, input=ctx.body), []
    stream: AsyncGenerator[Any, None] = PythonRuntime(registered).run(ctx)
    records = intake.start()
    try:
        async with asyncio.timeout(seconds), aclosing(stream):
            async for event in stream:
                records += intake.accept(event)
                if intake.ended:
                    break
        if not intake.ended:
            records += endings.end(intake)
    except TimeoutError:
        text = f"The run took longer than {seconds:g} seconds."
        records += intake.fail(RunErrorCode.TIMEOUT, text)
    except RunFailed as failed:
        records += intake.fail(failed.reason, failed.message)
    except Exception as error:  # A worker hides it from readers; a test wants to see it.
        records += intake.fail(RunErrorCode.AGENT_ERROR, f"{type(error).__name__}: {error}")
    events += [patient_json.loads(record.payload) for record in records]
    return events


def _body(input: str | Mapping[str, Any]) -> Wire:
    if isinstance(input, str):
        text = {"id": "message-1", "role": "user", "content": input}
        input = {"messages": [text] if input else []}
    empty: Wire = {"messages": [], "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    ids = {"threadId": str(uuid.uuid4()), "runId": str(uuid.uuid4())}
    return {**ids, "protocolVersion": PROTOCOL_VERSION, **empty, **input}


def _registered(agent: Any) -> registry.Registered:
    if isinstance(agent, str):
        return registry.get(agent)
    for entry in registry.all().values():
        if entry.target is agent:
            return entry
    return registry.Registered(_slug(agent), "", "", None, None, True, agent)


def _slug(agent: Any) -> str:
    return agent if isinstance(agent, str) else getattr(agent, "__name__", "agent")


def _inbox(messages: Sequence[str | Mapping[str, str]]) -> Iterable[InboxMessage]:
    for seq, message in enumerate(messages, 1):
        if isinstance(message, str):
            message = {"id": f"said-{seq}", "content": message}
        yield InboxMessage(message["id"], message["content"], seq)
