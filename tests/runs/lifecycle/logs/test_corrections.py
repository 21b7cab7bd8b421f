"""A log whose newest snapshot corrects what was streamed, over HTTP."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agui_host.backends import work
from agui_host.backends.postgres.bridge import db
from agui_host.backends.shelf import Shelf
from agui_host.protocol.views import corrected
from agui_host.protocol.views.corrected import Corrections
from agui_host.web.consumers.export.exports import FORMATS
from events.writer import JournalWriter
from runs.lifecycle.logs import corrections
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast, Register, perform, start
from tests.runs.playing import Play

pytestmark = pytest.mark.django_db(transaction=True)

Runs = Callable[..., Awaitable[list[Run]]]
TURN = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "the secret number"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]


def saying(*events: dict[str, Any]) -> Any:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        for event in events:
            yield event

    return agent


def snapshot(text: str) -> dict[str, Any]:
    messages = [{"id": "m", "role": "assistant", "content": text}]
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


async def test_no_reader_of_an_ended_run_gets_the_text_before(cast: Cast, play: Play) -> None:
    run, _ = await play(saying(*TURN, snapshot("the number")))
    headers = cast.alice.headers
    stored = await ask("GET", f"/v1/responses/resp_{run.pk.hex}", headers)
    task = await ask("GET", f"/a2a/tasks/{run.pk}", {**headers, "A2A-Version": "1.0"})
    chat = await ask("GET", "/api/chat/subject/t", headers)
    outline = await ask("GET", f"/api/v1/runs/{run.pk}/outline", headers)
    export = f"/api/v1/runs/{run.pk}/export?format="
    files = [await ask("GET", f"{export}{name}", headers) for name in FORMATS]
    for answer in (stored, task, chat, outline, *files):
        assert answer.status == 200, answer.body
        assert b"secret" not in answer.body
        assert b"the number" in answer.body
    cut = await ask("GET", f"{export}ndjson&at=3", headers)
    assert b"secret" not in cut.body
    restored = await ask(
        "POST",
        "/api/v1/runs/import",
        headers | {"content-type": "application/x-ndjson"},
        body=files[-1].body,
    )
    again = await ask("GET", f"/api/v1/runs/{restored.json['id']}/export?format=archive", headers)
    assert again.body == files[-1].body


async def test_only_a_log_with_a_snapshot_that_corrects_has_a_view(cast: Cast, play: Play) -> None:
    same, _ = await play(saying(*TURN, snapshot("the secret number")))
    corrections._shelf.clear()
    views = await asyncio.gather(*(corrections.of_apart(same.pk, same.team_id) for _ in range(3)))
    assert views == [None, None, None]
    assert len(corrections._shelf) == 1
    assert await db(corrections.of, same.pk, same.team_id) is None


@pytest.fixture
def runs_of(cast: Cast, register: Register, writer: JournalWriter) -> Runs:
    """The runs of agents that say these events, each after the one before has ended."""

    async def runs(*each: list[dict[str, Any]], thread: str | None = None) -> list[Run]:
        made = []
        for number, events in enumerate(each):
            agent = await db(register, f"subject{number}", saying(*events))
            ids = {"threadId": thread or f"t{number}", "runId": f"r{number}"}
            made.append(await perform(await db(start, cast.alice, agent, **ids), writer))
        return made

    return runs


async def test_the_texts_of_many_logs_have_a_bound_and_their_team_is_charged(
    runs_of: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded: Shelf[Any, Any] = Shelf(process=50_000, team=25_000)
    monkeypatch.setattr(corrections, "_shelf", bounded)
    spent = Counter[str]()
    monkeypatch.setattr(work, "charge", lambda team, kind, units: spent.update({str(team): units}))
    runs = await runs_of(*[[*TURN, snapshot("n" * 10_000)]] * 4)
    team = runs[0].team_id
    spent.clear()
    for run in runs:
        assert await corrections.of_apart(run.pk, team) is not None
        assert bounded.bytes <= 25_000
    once = spent[str(team)]
    assert once >= len(runs) * 10_000 // work.BYTES
    assert len(bounded) == 2
    await corrections.of_apart(runs[-1].pk, team)
    assert spent[str(team)] == once, "the newest is not read again"
    corrections._shelf.clear()
    spent.clear()
    await asyncio.gather(*(corrections.of_apart(runs[0].pk, team) for _ in range(5)))
    assert spent[str(team)] < 2 * once / len(runs), "those who come together read it once"


async def test_a_log_without_a_snapshot_costs_a_stream_one_query_at_most(play: Play) -> None:
    run, _ = await play(saying(*TURN))
    head = await db(lambda: run.journal.head)
    corrections._shelf.clear()
    for queries in (1, 0):
        assert await db(queries_of, run, head) == queries
    assert await corrections.of_apart(run.pk, run.team_id, corrections.OPENING) is None
    assert await db(queries_of, run, corrections.OPENING) == 0


def queries_of(run: Run, head: int) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert corrections.of(run.pk, run.team_id, head) is None
    return len(queries)


async def test_who_sees_a_run_alone_gets_its_corrections_alone(runs_of: Runs) -> None:
    """A call that waits from an earlier run: what the thread says of it is the thread's."""
    call = {"toolCallId": "c", "toolCallName": "f", "parentMessageId": "old"}
    function = {"name": "f", "arguments": '{"of": "an earlier run"}'}
    message = {"id": "old", "role": "assistant", "content": "before",
               "toolCalls": [{"id": "c", "type": "function", "function": function}]}  # fmt: skip
    question = {"type": "MESSAGES_SNAPSHOT", "messages": [message]}
    own = [
        {"type": "TOOL_CALL_START", **call},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]
    _, run = await runs_of([question], [*own, question], thread="t")
    whole = await corrections.of_apart(run.pk, run.team_id)
    alone = await corrections.of_apart(run.pk, run.team_id, None, False)
    assert whole is not None
    assert "an earlier run" in str(whole._entries)
    assert alone is None or "an earlier run" not in str(alone._entries)


async def test_a_text_that_a_snapshot_leaves_out_while_it_is_written_ends_with_its_log() -> None:
    """Those who join before the end get it as those who were there: a later one may have it."""
    log = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        *TURN[:2],
        {"type": "MESSAGES_SNAPSHOT", "messages": []},
        TURN[2],
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    for length in range(4, 6):
        assert not entries_of(log[:length])
    assert [now for _, now in entries_of(log).values()] == [None]


def entries_of(log: list[dict[str, Any]]) -> dict[Any, tuple[int, Any]]:
    made = Corrections()
    for seq, event in enumerate(log, 1):
        made.feed(seq, event)
    return made.entries()


async def test_arguments_that_are_too_many_to_compare_are_corrected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(corrected, "MOST_ARGUMENTS", 100)
    function = {"name": "f", "arguments": "{}"}
    message = {"id": "m", "role": "assistant",
               "toolCalls": [{"id": "c", "type": "function", "function": function}]}  # fmt: skip
    log = [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        *[{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "the secret number"}] * 10,
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [message]},
    ]
    assert [now for _, now in entries_of(log).values()] == ["{}"]
