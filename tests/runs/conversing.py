"""Runs whose events the test writes, and streams as their readers get them."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from agui_host.protocol.encoding import Record
from agui_host.protocol.intake.intake import Intake
from events import journal
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import Answer
from tests.cast import Actor, fresh, start

Wire = dict[str, Any]
End = Callable[[Intake], list[Record]]


def user(text: str, id: str) -> Wire:
    return {"id": id, "role": "user", "content": text}


def text(id: str, *deltas: str) -> list[Wire]:
    """A message that is not finished."""
    kind = {"messageId": id}
    return [
        {"type": "TEXT_MESSAGE_START", **kind, "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", **kind, "delta": delta} for delta in deltas),
    ]


class Told:
    """A claimed run; its log grows as the test says, synchronously."""

    def __init__(self, run: Run) -> None:
        claimed = lifecycle.claim(run.pk)
        assert claimed
        self.run, self._held = claimed.run, claimed.claim
        self._head = claimed.claim.head
        prepared = claimed.prepared
        self._intake = Intake(
            run.thread.thread_id, run.run_id, input=prepared.echo, history=prepared.history
        )

    def say(self, *events: Wire) -> "Told":
        self._append([record for event in events for record in self._intake.accept(event)])
        return self

    def end(self, how: End = Intake.finish) -> Run:
        self._append(how(self._intake))
        assert self._intake.terminal
        lifecycle.finish(self.run.pk, self._intake.terminal)
        return fresh(self.run)

    def _append(self, records: list[Record]) -> None:
        batch = journal.Batch(self._held.journal_id, self._held.generation, self._head + 1, records)
        with transaction.atomic():
            assert journal.append([batch]) == {self.run.pk}
        self._head = batch.last


def tell(actor: Actor, *events: Wire, end: End = Intake.finish, **body: Any) -> Run:
    """A run with these events, ended."""
    body = {"threadId": "t", **body}
    return (
        Told(start(actor, **body))
        .say({"type": "CUSTOM", "name": "x", "value": 1}, *events)
        .end(end)
    )


@dataclass(frozen=True)
class Stream:
    """What a reader of server-sent events got: each event with the ``id`` of its own frame."""

    frames: list[tuple[int | None, Wire]]

    @classmethod
    def of(cls, answer: Answer | bytes) -> "Stream":
        body = answer if isinstance(answer, bytes) else answer.body
        return cls([frame for block in body.decode().split("\n\n") for frame in _frame(block)])

    @property
    def events(self) -> list[Wire]:
        return [event for _, event in self.frames]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def ids(self) -> list[int]:
        return [seq for seq, _ in self.frames if seq is not None]

    def last(self, kind: str) -> Wire:
        return next(event for event in reversed(self.events) if event["type"] == kind)

    def contents(self) -> list[tuple[str, str]]:
        """Id and text of each message of the last snapshot."""
        messages = self.last("MESSAGES_SNAPSHOT")["messages"]
        return [(message["id"], message["content"]) for message in messages]


def _frame(block: str) -> Iterable[tuple[int | None, Wire]]:
    seq = None
    for line in block.splitlines():
        if line.startswith("id: "):
            seq = int(line[4:])
        elif line.startswith("data: "):
            yield seq, json.loads(line[6:])
