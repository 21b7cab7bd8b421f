"""Versions of the protocol: whatever a client declares is served, and a log keeps its own."""

from typing import Any

import pytest

from agui_project.bridge import db
from events.fold import Fold
from events.prelude import prelude
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Exchange, events_of
from tests.cast import Cast, perform

DECLARED = [None, "", "0.1", "1.0", "1.7", "2.0", "1.0.0", "one"]
STARTED: dict[str, Any] = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
ENDED: dict[str, Any] = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("declared", DECLARED)
async def test_every_declared_version_is_served_with_ours(
    cast: Cast, writer: JournalWriter, declared: str | None
) -> None:
    body: dict[str, Any] = {"threadId": "t", "runId": "r"}
    if declared is not None:
        body["protocolVersion"] = declared
    async with Exchange("POST", "/agui", cast.alice.headers, json=body) as exchange:
        assert exchange.status == 200
        run = await db(Run.objects.get)
        await perform(run, writer)
        events = [event for _, event in events_of(await exchange.rest())]
    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_FINISHED"]
    assert events[0]["protocolVersion"] == "1.0"
    assert run.protocol_version == (declared or None)


@pytest.mark.parametrize("recorded", [{}, {"protocolVersion": "1.0"}, {"protocolVersion": "1.1"}])
@pytest.mark.parametrize("log", [[STARTED], [STARTED, ENDED]], ids=["live", "ended"])
def test_a_replay_declares_what_the_log_was_recorded_with(
    log: list[dict[str, Any]], recorded: dict[str, str]
) -> None:
    fold = Fold()
    for event in log:
        fold.feed({**event, **(recorded if event is STARTED else {})})
    assert prelude(fold)[0] == {**STARTED, **recorded}
