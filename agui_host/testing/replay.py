"""Plays the agent of an archive again, and finds the first event in which both logs differ."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agui_host.protocol.strict_json import dumps
from agui_host.testing.play import SECONDS, Played, Wire, run
from agui_host.testing.recorded import Recorded

NAMES = frozenset({
    "messageId", "toolCallId", "parentMessageId", "interruptId", "id", "threadId", "runId",
})  # fmt: skip
"""Members whose values an agent makes up: a comparison numbers them as they come."""
VOLATILE = frozenset({"timestamp", "rawEvent", "usage"})
GENERATED = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")
"""A UUID: agents put the ids of their calls into state and questions."""
DELTAS = frozenset({"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT"})


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


def replay(
    archive: str | Path,
    agent: Any = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
) -> Replayed:
    """Play the agent of an archive (``?format=archive``) on the archive's input, and compare.

    ``agent`` is played in place of the archive's. What people said to the run while it worked is in
    ``ctx.inbox`` from the start. If the file has the run's effects (``agui-host replay --save``),
    ``ctx.once`` returns their recorded values. Raises ValueError for a file that is no archive.
    """
    lines = Path(archive).read_text(encoding="utf-8").split("\n")
    return replay_lines(lines, agent, settings=settings, seconds=seconds, name=str(archive))


def replay_lines(
    lines: Sequence[str],
    agent: Any = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
    name: str = "This file",
) -> Replayed:
    """As ``replay``, with the lines of the archive."""
    opening, events, rows = _parsed(lines, name)
    recorded = Played(events)
    body = {**json.loads(opening["input"]), "threadId": opening["thread"], "runId": opening["run"]}
    effects = None if rows is None else Recorded(rows)
    played = run(
        agent or opening["agent"], body, inbox=_said(recorded), settings=settings,
        seconds=seconds, effects=effects,
    )  # fmt: skip
    divergence = compare(recorded.events, played.events)
    if effects is not None and effects.missing is not None:
        if divergence is None:
            divergence = Divergence(len(recorded.events), effects.missing)
        else:
            divergence = Divergence(divergence.seq, f"{divergence.cause} ({effects.missing})")
    return Replayed(recorded, played, divergence)


def _parsed(lines: Sequence[str], name: str) -> tuple[Wire, list[Wire], list[Wire] | None]:
    """The first line, the events, and the effects if the file has them."""
    error = ValueError(f"{name} is not the archive of a run; export one with ?format=archive")
    events: list[Wire] = []
    rows: list[Wire] | None = None
    try:
        opening = json.loads(lines[0]) if lines else {}
        if not isinstance(opening, dict) or opening.get("archive") != 1:
            raise error
        for line in lines[1:]:
            if line.startswith('{"effects":'):
                rows = json.loads(line)["effects"]
            elif line and not line.startswith('{"seal":'):
                events.append(json.loads(line))
    except json.JSONDecodeError:
        raise error from None
    return opening, events, rows


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


def _said(recorded: Played) -> list[Mapping[str, str]]:
    """What people said to the run: user messages that its log itself has."""
    users = {e["messageId"] for e in recorded.events if e.get("role") == "user"}
    return [m for m in recorded.messages if m["id"] in users]


def _plain(events: Iterable[Wire]) -> Iterable[tuple[int, Wire]]:
    """Each event with its number, without volatile members, its ids numbered as they come."""
    names: dict[str, str] = {}
    for seq, event in _merged(events):
        yield (
            seq,
            {
                name: _renamed(value, names) if name in NAMES else _numbered(value, names)
                for name, value in event.items()
            },
        )


def _merged(events: Iterable[Wire]) -> Iterable[tuple[int, Wire]]:
    """The events with the deltas of one part as one event."""
    pending: tuple[int, Wire] | None = None
    for seq, event in enumerate(events, 1):
        plain: Wire = {
            name: value
            for name, value in event.items()
            if name not in VOLATILE and not (name == "input" and event["type"] == "RUN_STARTED")
        }
        part = plain.get("messageId") or plain.get("toolCallId")
        if pending is not None:
            same = pending[1].get("messageId") or pending[1].get("toolCallId")
            if pending[1]["type"] == plain["type"] and same == part:
                pending[1]["delta"] += plain["delta"]
                continue
            yield pending
            pending = None
        if plain["type"] in DELTAS:
            pending = seq, plain
        else:
            yield seq, plain
    if pending is not None:
        yield pending


def _renamed(value: Any, names: dict[str, str]) -> Any:
    return names.setdefault(value, f"#{len(names)}") if isinstance(value, str) else value


def _numbered(value: Any, names: dict[str, str]) -> Any:
    """The value with the generated ids inside its texts and keys numbered, as ``_renamed``."""
    if isinstance(value, str):
        return GENERATED.sub(lambda match: str(_renamed(match[0], names)), value)
    if isinstance(value, list):
        return [_numbered(item, names) for item in value]
    if isinstance(value, dict):
        return {_numbered(name, names): _numbered(item, names) for name, item in value.items()}
    return value


def _short(value: Any) -> str:
    text = dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
