"""Versions of the protocol: whatever a client declares is served, and a log keeps its own."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Exchange, ask_now, events_of
from tests.cast import Cast, perform
from tests.runs.conversing import Stream, tell

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


THOUGHT: list[dict[str, Any]] = [
    {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "hm"},
    {"type": "REASONING_MESSAGE_END", "messageId": "m"},
]
THINKING = [
    (None, "THINKING_START"),
    (3, "THINKING_TEXT_MESSAGE_START"),
    (4, "THINKING_TEXT_MESSAGE_CONTENT"),
    (None, "THINKING_TEXT_MESSAGE_END"),
    (5, "THINKING_END"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?protocol=0.0.43", THINKING),
        ("?protocol=0.0.43&raw=false", THINKING),
        ("?protocol=0.0.43&after=3", THINKING[2:]),
        ("", [(3 + at, event["type"]) for at, event in enumerate(THOUGHT)]),
        ("?protocol=0.0.59", [(3 + at, event["type"]) for at, event in enumerate(THOUGHT)]),
        ("?protocol=1.0", [(3 + at, event["type"]) for at, event in enumerate(THOUGHT)]),
    ],
)
def test_a_get_says_its_version(
    cast: Cast, query: str, expected: list[tuple[int | None, str]]
) -> None:
    run = tell(cast.alice, *THOUGHT)
    headers = {**cast.vera.headers, "accept": "text/event-stream"}
    stream = Stream.of(ask_now("GET", f"/api/v1/runs/{run.pk}/events{query}", headers))
    pairs = [(seq, event["type"]) for seq, event in stream.frames]
    assert [each for each in pairs if "REASONING" in each[1] or "THINKING" in each[1]] == expected
    assert pairs[-1] == (6, "RUN_FINISHED")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("declared", [None, "0.0.43", "1.0"])
@pytest.mark.parametrize("parameter", ["", "?protocol=0.0.39"])
def test_a_connect_says_it_or_its_input_does(
    cast: Cast, parameter: str, declared: str | None
) -> None:
    plan = {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN", "content": {}}
    tell(cast.alice, *THOUGHT, plan)
    body = {"threadId": "t", "runId": "new", "protocolVersion": declared}
    url = f"/agui/agent/echo/connect{parameter}"
    stream = Stream.of(ask_now("POST", url, cast.alice.headers, json=body))
    roles = {message["role"] for message in stream.last("MESSAGES_SNAPSHOT")["messages"]}
    knows_thoughts = not parameter and declared != "0.0.43"
    assert ("reasoning" in roles, "activity" in roles) == (knows_thoughts, not parameter)


@pytest.mark.django_db(transaction=True)
def test_what_is_no_version_is_refused_before_anything_is_written(cast: Cast) -> None:
    run = tell(cast.alice)
    for method, path in (
        ("POST", "/agui"),
        ("POST", "/agui/agent/echo/connect"),
        ("GET", f"/api/v1/runs/{run.pk}/events"),
    ):
        for version in ("one", "0", "-1.0", "0.0.39-alpha"):
            headers = {**cast.alice.headers, "accept": "text/event-stream"}
            body = {"threadId": "new", "runId": "r"} if method == "POST" else None
            answer = ask_now(method, f"{path}?protocol={version}", headers, json=body)
            assert (answer.status, answer.code) == (422, "invalid")
    assert Run.objects.count() == 1
