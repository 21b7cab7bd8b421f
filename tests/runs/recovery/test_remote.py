"""A remote agent whose run is continued: it is asked again, and readers never see text twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.fold import Fold
from agui_host.runtimes.kinds import http
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast, log_of, start
from tests.runs.playing import settled
from tests.runs.recovery.lost import Workers, lose
from tests.runtimes.kinds.peers import FINISHED, STARTED, STREAM, Call, Peer, peer, text

pytestmark = pytest.mark.django_db(transaction=True)
BEGUN = [
    STARTED,
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/pages", "value": 1}]},
    {"type": "REASONING_START", "messageId": "why"},
    {"type": "REASONING_MESSAGE_START", "messageId": "why-1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "why-1", "delta": "Let me see."},
    {"type": "REASONING_MESSAGE_END", "messageId": "why-1"},
    {"type": "REASONING_END", "messageId": "why"},
    *text("Page one.", "m1"),
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "find"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"q":'},
    *text("Half", "m2")[:2],
]
WHOLE = [
    *BEGUN[:10],
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "find"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"q":1}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "r1", "content": "found"},
    *text("Half of it, and the rest.", "m2"),
    FINISHED,
]


@pytest.fixture(autouse=True)
async def nothing_left(settings: Any) -> AsyncIterator[None]:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    yield
    await http.close()


async def lost_in_the_middle(cast: Cast, writer: JournalWriter, far: Peer) -> Workers:
    """A run that has lost its worker when the remote agent had sent BEGUN; the second works."""

    def prepare() -> Run:
        agent = Agent.objects.create(
            team=cast.team, slug="far", name="Far", kind="http", target=far.url,
            recovery="continue",
        )  # fmt: skip
        words = [{"id": "u", "role": "user", "content": "Hi"}]
        return start(cast.alice, agent, threadId="t", runId="r", messages=words)

    workers = Workers(await db(prepare), writer)
    await workers.take()
    async with asyncio.timeout(20):
        while not any(e.get("delta") == "Half" for e in await db(log_of, workers.run)):
            await asyncio.sleep(0.01)
    first = workers.task
    assert first
    assert await db(lose, workers.run)
    first.cancel()  # Its process is gone, and its connection with it.
    await asyncio.wait({first}, timeout=20)
    await workers.take()
    return workers


def folded(log: list[dict[str, Any]]) -> Fold:
    fold = Fold()
    for event in log:
        fold.feed(event)
    return fold


def texts(fold: Fold) -> list[tuple[str, Any]]:
    return [(m["role"], m.get("content")) for m in fold.messages]


async def test_a_remote_agent_that_begins_again_replaces_its_text(
    cast: Cast, writer: JournalWriter
) -> None:
    async def remote(call: Call) -> None:
        await call.raw(STREAM)
        if call.number == 1:
            await call.events(*BEGUN)
            await call.gone()
        else:
            await call.events(*WHOLE)
            await call.chunk(b"")

    async with peer(remote) as far:
        workers = await lost_in_the_middle(cast, writer, far)
        run, log = await settled(await workers.to_the_end())
        await http.close()
    assert run.status == "succeeded"
    first, second = far.calls
    assert first.input == second.input, "the same request, with the state of the beginning"
    assert "agui-attempt" not in first.head.lower()
    assert "agui-attempt: 2" in second.head.lower()
    fold = folded(log)
    assert texts(fold) == [
        ("user", "Hi"),
        ("reasoning", "Let me see."),
        ("assistant", "Page one."),
        ("assistant", None),
        ("tool", "found"),
        ("assistant", "Half of it, and the rest."),
    ]
    assert fold.state == {"pages": 1}
    assert log[-1].get("outcome", {}).get("pendingToolCallIds", []) == []


async def test_a_remote_host_that_joins_its_run_sends_the_snapshots_itself(
    cast: Cast, writer: JournalWriter
) -> None:
    messages = [
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "m1", "role": "assistant", "content": "Page one."},
        {"id": "m2", "role": "assistant", "content": "Half of it"},
    ]

    async def remote(call: Call) -> None:
        await call.raw(STREAM)
        if call.number == 1:
            await call.events(*BEGUN)
            await call.gone()
        else:
            await call.events(
                STARTED,
                {"type": "MESSAGES_SNAPSHOT", "messages": messages},
                {"type": "STATE_SNAPSHOT", "snapshot": {"pages": 1}},
                *text(", and the rest.", "m2"),
                FINISHED,
            )
            await call.chunk(b"")

    async with peer(remote) as far:
        workers = await lost_in_the_middle(cast, writer, far)
        _, log = await settled(await workers.to_the_end())
        await http.close()
    assert [e["type"] for e in log].count("MESSAGES_SNAPSHOT") == 1, "only the remote host's"
    assert texts(folded(log))[-2:] == [
        ("assistant", "Page one."),
        ("assistant", "Half of it, and the rest."),
    ]


async def test_a_remote_agent_that_refuses_leaves_what_readers_have(
    cast: Cast, writer: JournalWriter
) -> None:
    async def remote(call: Call) -> None:
        if call.number == 1:
            await call.raw(STREAM)
            await call.events(*BEGUN)
            await call.gone()
        else:
            await call.answer(409, b"{}")

    async with peer(remote) as far:
        workers = await lost_in_the_middle(cast, writer, far)
        run, log = await settled(await workers.to_the_end())
        await http.close()
    assert run.error_code == "upstream_http"
    assert ("assistant", "Half") in texts(folded(log))


async def test_the_api_accepts_it(cast: Cast) -> None:
    values = {"slug": "far", "url": "http://127.0.0.1:1/agent", "recovery": "continue"}
    answer = await ask("POST", "/api/v1/agents", cast.alice.headers, json=values)
    assert (answer.status, answer.json["recovery"]) == (201, "continue")
    row = await db(Agent.objects.get, slug="far", team=cast.team)
    assert row.continues


@pytest.mark.parametrize(
    ("chosen", "declared", "continues"),
    [
        ("continue", "end", False),
        ("continue", "CONTINUE", True),
        ("continue", "?", True),
        ("", "continue", True),
        ("", "end", False),
        ("", "?", False),
        ("end", "continue", False),
    ],
)
async def test_its_own_declaration(
    cast: Cast, writer: JournalWriter, chosen: str, declared: str, continues: bool
) -> None:
    begun = asyncio.Event()

    async def remote(call: Call) -> None:
        head = f"\r\nAGUI-Recovery: {declared}\r\n".encode()
        await call.raw(STREAM.replace(b"\r\n", head, 1))
        await call.events(STARTED)
        begun.set()
        await call.gone()

    def prepare(url: str) -> Run:
        agent = Agent.objects.create(
            team=cast.team, slug="far", name="Far", kind="http", target=url, recovery=chosen
        )
        return start(cast.alice, agent)

    async with peer(remote) as far:
        run = await db(prepare, far.url)
        workers = Workers(run, writer)
        await workers.take()
        await asyncio.wait_for(begun.wait(), 20)

        def row() -> Agent:
            return Agent.objects.get(team=cast.team, slug="far")

        async with asyncio.timeout(20):
            while declared != "?" and not (await db(row)).declared_recovery:
                await asyncio.sleep(0.01)
        assert (await db(row)).continues is continues
        listed = await ask("GET", "/api/v1/agents/far", cast.alice.headers)
        declares = declared if declared != "?" else "end"
        assert listed.json["recovery"] == (chosen or declares)
        assert await db(lose, run)
        assert (await db(Run.objects.get, pk=run.pk)).status == (
            "running" if continues else "failed"
        )
        assert workers.task
        workers.task.cancel()
        await asyncio.wait({workers.task}, timeout=20)
        await http.close()
