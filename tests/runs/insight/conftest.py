"""Runs whose logs have tool calls, and nobody who rests."""

from typing import Any

import pytest

from runs.lifecycle.insight import storing
from runs.models import Run, ToolCall
from tests.cast import Actor, fresh, start
from tests.runs.asking import end

Wire = dict[str, Any]
ARGUMENTS = '{"order": 7, "amount": 5.0}'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "REST", 0.0)


def call(id: str, arguments: str = ARGUMENTS, result: Any = '{"id": "ch_1"}', name: str = "charge",
         **more: Any) -> list[Wire]:  # fmt: skip
    """The events of a tool call; without a result if that is None."""
    events: list[Wire] = [
        {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name},
        *(
            {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece}
            for piece in (arguments[:9], arguments[9:])
            if piece
        ),
        {"type": "TOOL_CALL_END", "toolCallId": id},
    ]
    if result is not None:
        events.append(answer(id, result, **more))
    return events


def answer(id: str, result: Any = '{"id": "ch_1"}', **more: Any) -> Wire:
    """The result of a call, made here or in an earlier run."""
    return {
        "type": "TOOL_CALL_RESULT", "toolCallId": id, "messageId": f"{id}-result",
        "content": result, **more,
    }  # fmt: skip


def ran(actor: Actor, *events: list[Wire], agent: Any = None, **body: Any) -> Run:
    """A run that has ended, whose agent made these events."""
    run = start(actor, agent, **body)
    played(run, *events)
    return fresh(run)


def played(run: Run, *events: list[Wire]) -> None:
    """End a queued run with these events."""
    end(run, lambda intake: [
        *intake.start(),
        *(record for each in events for event in each for record in intake.accept(event)),
        *intake.finish(),
    ])  # fmt: skip


def asks(text: str) -> dict[str, Any]:
    """The messages of a body."""
    return {"messages": [{"id": text, "role": "user", "content": text}]}


def doubles() -> list[tuple[str, int, str]]:
    """The run, the event and the kind of each double."""
    rows = ToolCall.objects.of_any_team().exclude(double="").order_by("run_id", "seq")
    return [(str(row.run_id), row.seq, row.double) for row in rows]
