"""Alpine's dialect over HTTP: starting a run as its clients do, and reading it as named events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.alpine.schema import problem
from agui_host.embedded.management.commands.up import Command
from agui_host.embedded.management.commands.up import alpine as variables
from agui_host.runtimes.models import Agent
from agui_host.web.asgi import application
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Exchange, ask, http_scope
from tests.cast import Actor, Cast, LiveRun, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

SSE = {"accept": "text/event-stream"}
ISSUE = "https://github.com/owner/repo/issues/123"


class Named(NamedTuple):
    name: str
    id: int | None
    data: dict[str, Any]


def named(body: bytes) -> list[Named]:
    """The named events of a body, as an EventSource gives them out; each is valid."""
    frames: list[Named] = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] not in (":",))
        if "data" in fields:
            key = int(fields["id"]) if "id" in fields else None
            frames.append(Named(fields["event"], key, json.loads(fields["data"])))
    for event in frames:
        assert event.data["type"] == event.name
        assert problem(event.data) is None
    return frames


def stream_of(run: Run, query: str = "") -> str:
    return f"/runs/{run.pk}/events{query}"


async def read(actor: Actor, run: Run, query: str = "", **headers: str) -> list[Named]:
    answer = await ask("GET", stream_of(run, query), {**actor.headers, **SSE, **headers})
    assert answer.status == 200, answer.body
    return named(answer.body)


async def workflow(ctx: Any) -> AsyncIterator[Any]:
    """The steps of the document's integration test."""
    yield {"type": "STEP_STARTED", "stepName": "analyse"}
    yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ctx.text}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    yield {"type": "STEP_FINISHED", "stepName": "analyse"}


async def failing(ctx: Any) -> AsyncIterator[Any]:
    yield {"type": "STEP_STARTED", "stepName": "break"}
    raise RuntimeError("no")


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events: RUN_STARTED, then a, b, c."""
    message = {"role": "user", "content": "Fix it"}
    run = await LiveRun.begin(await db(start, cast.alice, messages=[message]), writer)
    await run.say("a", "b", "c")
    return run


async def test_event_emission(cast: Cast, live: LiveRun) -> None:
    """The document's first test: subscribe, emit, receive."""
    url = stream_of(live.run)
    async with Exchange("GET", url, {**cast.vera.headers, **SSE}) as events:
        await events.until(b'"c"')
        await live.say("d")
        received = named(await events.until(b'"d"'))[-1]
        await live.end()
        end = named(await events.rest())[-1]
    assert (received.name, received.id, received.data["value"]) == ("custom", 5, "d")
    assert (end.name, end.id, end.data["runId"]) == ("run_finished", 6, str(live.run.pk))


async def test_workflow_event_integration(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """The document's second test: a workflow's events in their order, and nothing else."""
    agent = await db(register, "alpine", workflow)
    message = {"role": "user", "content": "Test task"}
    run = await db(start, cast.alice, agent, messages=[message])
    async with Exchange("GET", stream_of(run), {**cast.alice.headers, **SSE}) as events:
        await perform(run, writer)
        events_read = named(await events.rest())
    assert [event.name for event in events_read] == [
        "run_started", "step_started", "text_message_start", "text_message_content",
        "text_message_end", "step_finished", "run_finished",
    ]  # fmt: skip
    assert events_read[0].data["metadata"]["task"] == "Test task"
    assert events_read[3].data["content"] == "Test task"
    assert events_read[6].data["result"]["stepCount"] == 1


async def test_a_step_in_which_the_agent_broke_has_failed(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    run = await db(start, cast.alice, await db(register, "alpine", failing))
    await perform(run, writer)
    events = await read(cast.alice, run)
    assert [event.name for event in events[-2:]] == ["step_finished", "run_error"]
    assert events[-2].data["status"] == "failed"
    assert events[-1].data["error"]["step"] == 1


class TestCursors:
    async def test_a_late_cursor_gets_right_numbers(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        run = await db(start, cast.alice, await db(register, "alpine", workflow))
        await perform(run, writer)
        whole = await read(cast.alice, run)
        for after in range(7):
            part = await read(cast.alice, run, **{"last-event-id": str(after)})
            assert part == whole[after:]
            assert await read(cast.alice, run, f"?after={after}") == part

    async def test_at_the_end_there_is_nothing_more(self, cast: Cast, live: LiveRun) -> None:
        await live.end()
        headers = {**cast.alice.headers, **SSE}
        answer = await ask("GET", stream_of(live.run, "?after=5"), headers)
        assert answer.status == 204
        answer = await ask("GET", stream_of(live.run, "?after=6"), headers)
        assert answer.status == 400

    async def test_events_that_are_not_told_move_the_cursor_too(
        self, cast: Cast, live: LiveRun
    ) -> None:
        await live.end()
        headers = {**cast.alice.headers, **SSE}
        answer = await ask("GET", stream_of(live.run, "?capabilities="), headers)
        assert [event.id for event in named(answer.body)] == [1, 5]
        assert b"id: 4\n" in answer.body

    async def test_a_late_reader_gets_the_newest_events_behind_what_is_open(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.ALPINE_AG_UI_BUFFER_SIZE = 2
        await live.end()
        events = await read(cast.alice, live.run)
        assert [(event.name, event.id) for event in events] == [
            ("run_started", None), ("state_snapshot", None), ("custom", 4), ("run_finished", 5),
        ]  # fmt: skip
        assert events[2].data["value"] == "c"
        assert len(await read(cast.alice, live.run, "?after=0")) == 5


class TestStream:
    async def test_headers(self, cast: Cast, live: LiveRun) -> None:
        await live.end()
        answer = await ask("GET", stream_of(live.run), {**cast.alice.headers, **SSE})
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache, no-transform"
        assert answer.headers["x-ag-ui-schema"] == "1.0"
        assert "tool_calls" in answer.headers["x-ag-ui-capabilities"]

    async def test_what_a_client_was_written_for(self, cast: Cast, live: LiveRun) -> None:
        await live.end()
        events = await read(cast.alice, live.run, "?schema=1&capabilities=tool_calls,voice")
        assert [event.name for event in events] == ["run_started", "run_finished"]
        assert events[0].data["metadata"]["capabilities"] == ["tool_calls"]
        headers = {**cast.alice.headers, **SSE}
        answer = await ask("GET", stream_of(live.run, "?schema=2"), headers)
        assert answer.status == 422
        assert answer.json["error"]["details"]["supported"] == ["1.0"]

    async def test_heartbeats(self, cast: Cast, live: LiveRun, settings: Settings) -> None:
        settings.AGUI_SSE_HEARTBEAT = 0.1
        url = stream_of(live.run)
        async with Exchange("GET", url, {**cast.alice.headers, **SSE}) as events:
            await events.until(b": heartbeat\n")

    async def test_a_reader_that_takes_nothing_is_cut(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.ALPINE_AG_UI_STREAM_TIMEOUT = 0.1
        scope = http_scope("GET", stream_of(live.run), {**cast.alice.headers, **SSE})
        stuck = asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            if b"event:" in message.get("body", b""):
                stuck.set()
                await asyncio.Event().wait()

        received = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if received:
                return received.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async with asyncio.timeout(30):
            await application(scope, receive, send)
        assert stuck.is_set()

    async def test_an_event_that_is_not_valid_is_left_out(
        self, cast: Cast, live: LiveRun, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "agui_host.dialects.alpine.endpoints.problem",
            lambda frame: "no" if "value" in frame else None,
        )
        await live.end()
        url, headers = stream_of(live.run), {**cast.alice.headers, **SSE}
        assert b"event: custom" not in (await ask("GET", url, headers)).body
        settings.ALPINE_AG_UI_VALIDATE_EVENTS = False
        assert b"event: custom" in (await ask("GET", url, headers)).body

    async def test_switched_off_the_runs_go_on_without_it(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.ALPINE_AG_UI_ENABLED = False
        answer = await ask("GET", stream_of(live.run), {**cast.alice.headers, **SSE})
        assert answer.status == 404
        answer = await ask("POST", "/agents/run", cast.alice.headers, json={"task": "x"})
        assert (answer.status, answer.json["ag_ui_stream"]) == (202, None)

    async def test_a_browser_is_shown_the_page(self, cast: Cast, live: LiveRun) -> None:
        answer = await ask("GET", stream_of(live.run), {**cast.alice.cookie, "accept": "text/html"})
        assert (answer.status, answer.headers["location"]) == (302, f"/runs/{live.run.pk}/")


class TestStart:
    async def test_with_an_issue(self, cast: Cast, writer: JournalWriter) -> None:
        body = {"github_issue_url": ISSUE, "enable_ag_ui": True, "stream_events": True}
        answer = await ask("POST", "/agents/run", cast.bob.headers, json=body)
        assert answer.status == 202
        run = await db(Run.objects.get)
        assert answer.json == {
            "run_id": str(run.pk),
            "status": "running",
            "ag_ui_stream": f"/runs/{run.pk}/events",
        }
        await perform(run, writer)
        events = await read(cast.bob, run)
        assert events[0].data["metadata"]["task"] == ISSUE
        content = [event.data["content"] for event in events if "content" in event.data]
        assert "".join(content) == f"Work on this GitHub issue: {ISSUE}"

    async def test_in_a_worktree(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        """Other agents read the name; a command line works there, or the request is refused."""
        body = {"task": "Fix it", "worktree_dir": "/w", "agent": "echo"}
        assert (await ask("POST", "/agents/run", cast.bob.headers, json=body)).status == 202
        run = await db(Run.objects.get)
        await perform(run, writer)
        started, *_ = await read(cast.bob, run)
        assert started.data["metadata"]["worktreeDir"] == "/w"
        await db(
            Agent.objects.create, team=cast.team, slug="cli", name="CLI", kind="process",
            settings={"argv": ["true"], "unconfined": True},
        )  # fmt: skip
        for name, status in (("../up", 422), ("/w", 422), ("feature/x", 202)):
            body = {"task": "Fix it", "worktreeDir": name, "agent": "cli"}
            answer = await ask("POST", "/agents/run", cast.bob.headers, json=body)
            assert (answer.status, name) == (status, name)
            assert status == 202 or answer.code == "worktree_refused"

    async def test_in_plan_mode(self, cast: Cast, writer: JournalWriter) -> None:
        body = {"task": "Fix it", "planMode": True, "agent": "echo"}
        await ask("POST", "/agents/run", cast.bob.headers, json=body)
        run = await db(Run.objects.get)
        await perform(run, writer)
        started, *_ = await read(cast.bob, run)
        assert started.data["metadata"]["task"] == "Fix it"
        assert started.data["metadata"]["planMode"] is True
        assert "plan first" in json.loads(run.input)["messages"][0]["content"]

    @pytest.mark.parametrize("name", ["enable_ag_ui", "stream_events"])
    async def test_without_the_stream(self, cast: Cast, bell: None, name: str) -> None:
        body = {"task": "Fix it", name: False}
        answer = await ask("POST", "/agents/run", cast.bob.headers, json=body)
        assert (answer.status, answer.json["ag_ui_stream"]) == (202, None)

    async def test_twice_with_one_key(self, cast: Cast, bell: None) -> None:
        headers = {**cast.bob.headers, "idempotency-key": "k"}
        answers = [await ask("POST", "/agents/run", headers, json={"task": "x"}) for _ in range(2)]
        assert answers[0].json == answers[1].json

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({}, 422),
            ({"task": " "}, 422),
            ({"task": 3}, 422),
            ({"task": "x", "plan_mode": "yes"}, 422),
            ({"github_issue_url": "https://example.com/issues/1"}, 422),
            ({"github_issue_url": f"{ISSUE} and more"}, 422),
            ({"task": "x", "agent": "nobody"}, 404),
            ([], 400),
        ],
    )
    async def test_what_cannot_be_run(self, cast: Cast, bell: None, body: Any, status: int) -> None:
        answer = await ask("POST", "/agents/run", cast.bob.headers, json=body)
        assert answer.status == status, answer.body
        assert await db(Run.objects.count) == 0


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], {}),
        (["--ag-ui"], {"ALPINE_AG_UI_ENABLED": "true"}),
        (["--no-ag-ui"], {"ALPINE_AG_UI_ENABLED": "false"}),
        (["--ag-ui-buffer-size", "2000"], {"ALPINE_AG_UI_BUFFER_SIZE": "2000"}),
    ],
)
def test_flags_stand_for_variables(args: list[str], expected: dict[str, str]) -> None:
    options = Command().create_parser("manage.py", "up").parse_args(args)
    assert variables(vars(options)) == expected
