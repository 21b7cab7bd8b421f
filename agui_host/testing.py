"""A run is a test: plays an agent on an input or an archive, without a server (howto-test-agents).

``run`` plays an agent once, through the same intake as a worker, and returns what readers would
get. ``replay`` plays it on the input of an archive and compares the logs. As a pytest plug-in
(``pytest_plugins = ["agui_host.testing"]``) it gives tests the fixtures ``run_agent`` and
``replay_archive``. No model, database or settings are needed, unless the agent uses them.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake import endings
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.schema import PROTOCOL_VERSION
from agui_host.runtimes import registry
from agui_host.runtimes.context.inbox import InboxMessage
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.python import PythonRuntime

Wire = dict[str, Any]
SECONDS = 30.0
NAMES = frozenset({
    "messageId", "toolCallId", "parentMessageId", "interruptId", "id", "threadId", "runId",
})  # fmt: skip
"""Members whose values an agent makes up: a comparison numbers them as they come."""
VOLATILE = frozenset({"timestamp", "rawEvent", "usage"})
DELTAS = frozenset({"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT"})


@dataclass(frozen=True)
class Played:
    """The log of one run, and what it adds up to for a reader."""

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
        return (self.end.get("outcome") or {}).get("interrupts", [])

    def calls(self, name: str | None = None) -> list[Wire]:
        """The tool calls, or those of one tool: ``{id, function: {name, arguments}}``."""
        calls = [call for m in self.messages for call in m.get("toolCalls", ())]
        return [call for call in calls if name in (None, call["function"]["name"])]


@dataclass(frozen=True)
class Divergence:
    """The first difference of two logs: ``seq`` is the recorded event's, ``cause`` in words."""

    seq: int
    cause: str

    def __str__(self) -> str:
        return f"event {self.seq}: {self.cause}"


@dataclass(frozen=True)
class Replayed:
    """A replay: the ``recorded`` log, the log ``played`` now, and where they differ first."""

    recorded: Played
    played: Played
    divergence: Divergence | None


def run(
    agent: Any,
    input: str | Mapping[str, Any] = "",
    *,
    inbox: Sequence[str | Mapping[str, str]] = (),
    settings: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
) -> Played:
    """Play an agent to its end.

    ``agent``: the slug of a registered agent, or its code. ``input``: a RunAgentInput in wire form,
    all of it optional, or the text of one message. ``inbox``: what ``ctx.inbox`` has from the
    start. An agent that takes longer than ``seconds`` ends with RUN_ERROR ``timeout``.
    """
    body = _body(input)
    ctx = RunContext(body, agent=_slug(agent), settings=settings)
    ctx.inbox.deliver(_inbox(inbox))
    return Played(asyncio.run(_play(_registered(agent), ctx, seconds)))


def replay(archive: str | Path, agent: Any = None, *, seconds: float = SECONDS) -> Replayed:
    """Play the agent of an archive (``?format=archive``) on the archive's input, and compare.

    ``agent`` is played in place of the archive's. What people said to the run while it worked is in
    ``ctx.inbox`` from the start. Raises ValueError for a file that is no archive.
    """
    lines = Path(archive).read_text(encoding="utf-8").splitlines()
    opening = json.loads(lines[0]) if lines else {}
    if not isinstance(opening, dict) or opening.get("archive") != 1:
        raise ValueError(f"{archive} is not the archive of a run; export one with ?format=archive")
    recorded = Played([json.loads(line) for line in lines[1:] if not line.startswith('{"seal":')])
    body = {**json.loads(opening["input"]), "threadId": opening["thread"], "runId": opening["run"]}
    played = run(agent or opening["agent"], body, inbox=_said(recorded), seconds=seconds)
    return Replayed(recorded, played, compare(recorded.events, played.events))


def compare(recorded: Sequence[Wire], played: Sequence[Wire]) -> Divergence | None:
    """The first event in which two logs differ, by more than ids, times and the size of deltas."""
    left, right = list(_plain(recorded)), list(_plain(played))
    for (seq, old), (_, new) in zip(left, right, strict=False):
        if old["type"] != new["type"]:
            return Divergence(seq, f"{old['type']} was recorded, {new['type']} was played")
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                was, came = (_short(event.get(name)) for event in (old, new))
                return Divergence(seq, f"{name} of {old['type']} was {was}, now it is {came}")
    if len(left) > len(right):
        seq, old = left[len(right)]
        return Divergence(seq, f"{old['type']} was recorded, nothing more was played")
    if len(right) > len(left):
        more = right[len(left)][1]["type"]
        return Divergence(len(recorded) + 1, f"{more} was played after the recorded end")
    return None


@pytest.fixture
def run_agent() -> Callable[..., Played]:
    """``run``: plays an agent on an input."""
    return run


@pytest.fixture
def replay_archive() -> Callable[..., Played]:
    """Replays an archive and fails at the first divergence; the run as it was played."""

    def checked(archive: str | Path, agent: Any = None, **options: Any) -> Played:
        replayed = replay(archive, agent, **options)
        if replayed.divergence is not None:
            pytest.fail(f"{archive} diverges at {replayed.divergence}")
        return replayed.played

    return checked


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
    events += [json.loads(record.payload) for record in records]
    return events


def _body(input: str | Mapping[str, Any]) -> Wire:
    if isinstance(input, str):
        text = {"id": "message-1", "role": "user", "content": input}
        input = {"messages": [text] if input else []}
    empty = {"messages": [], "state": {}, "tools": [], "context": [], "forwardedProps": {}}
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


def _said(recorded: Played) -> list[Mapping[str, str]]:
    """What people said to the run: user messages that its log itself has."""
    users = {e["messageId"] for e in recorded.events if e.get("role") == "user"}
    return [m for m in recorded.messages if m["id"] in users]


def _plain(events: Iterable[Wire]) -> Iterable[tuple[int, Wire]]:
    """Each event with its number, without volatile members; deltas of one part are one event."""
    names: dict[str, str] = {}
    held: tuple[int, Wire] | None = None
    for seq, event in enumerate(events, 1):
        plain: Wire = {
            name: _renamed(value, names) if name in NAMES else value
            for name, value in event.items()
            if name not in VOLATILE and not (name == "input" and event["type"] == "RUN_STARTED")
        }
        part = plain.get("messageId") or plain.get("toolCallId")
        if held is not None:
            same = held[1].get("messageId") or held[1].get("toolCallId")
            if held[1]["type"] == plain["type"] and same == part:
                held[1]["delta"] += plain["delta"]
                continue
            yield held
            held = None
        if plain["type"] in DELTAS:
            held = seq, plain
        else:
            yield seq, plain
    if held is not None:
        yield held


def _renamed(value: Any, names: dict[str, str]) -> Any:
    return names.setdefault(value, f"#{len(names)}") if isinstance(value, str) else value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
