"""Messages to agents outside of the worker: remote ones, and commands that read their input."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.kinds import http, steering_http
from agui_host.runtimes.kinds.kind import BadSettings
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Cast, log_of, perform, start
from tests.runs.steering.test_messages import (
    DEADLINE,
    conversation,
    listed,
    send,
    until_running,
    user_message,
)
from tests.runtimes.kinds.peers import FINISHED, STARTED, STREAM, Call, peer, text
from tests.runtimes.processing import script

pytestmark = pytest.mark.django_db(transaction=True)
READER = """
    import json, sys
    print("input", json.loads(sys.stdin.readline())["messages"][0]["content"], flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        print("read", message["content"], flush=True)
        if message["content"] == "stop":
            break
"""
ENDLESS = 30
"""Megabytes."""
CLAUDE = """
    import json, sys
    def say(**line):
        print(json.dumps({"session_id": "s", **line}), flush=True)
    say(type="system", subtype="init")
    for number, line in enumerate(sys.stdin):
        content = json.loads(line)["message"]["content"][0]["text"]
        text = {"type": "text", "text": f"You say {content}. "}
        say(type="assistant", message={"id": f"m{number}", "content": [text]})
        if number:
            say(type="result", subtype="success", result="Done.")
"""


@pytest.fixture(autouse=True)
async def settled(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    settings.AGUI_DATA_DIR = tmp_path
    monkeypatch.setattr(steering_http, "PAUSES", (0.01, 0.01))
    yield
    await http.close()


def begun(cast: Cast, kind: str, target: str, settings: dict[str, Any]) -> Run:
    agent = Agent.objects.create(
        team=cast.team, slug="far", name="Far", kind=kind, target=target, settings=settings
    )
    return start(cast.alice, agent, messages=[user_message("Go.")])


class Remote:
    """A remote agent that works until it is told to end; ``answer`` is for each message."""

    def __init__(self, answer: Callable[["Remote", Call], Awaitable[None]], declares: str = ""):
        self.answer = answer
        self.declares = declares
        self.stream: Call | None = None
        self.open = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        if "POST /agent" not in call.head:
            await self.answer(self, call)
            return
        head = f"\r\nagui-steering: {self.declares}\r\n".encode() if self.declares else b"\r\n"
        await call.raw(STREAM.replace(b"\r\n", head, 1))
        await call.events(STARTED, *text("Working.", "w"))
        self.stream = call
        self.open.set()
        await call.gone()

    async def end(self, *events: dict[str, Any]) -> None:
        assert self.stream
        await self.stream.events(*events, FINISHED)
        await self.stream.chunk(b"")


async def steered(
    remote: Remote, cast: Cast, writer: JournalWriter, *contents: str, **settings: Any
) -> tuple[Run, list[dict[str, Any]], list[Call]]:
    """A run that gets messages while its remote agent works; its log, and the requests."""
    async with peer(remote) as far:
        run = await db(begun, cast, "http", far.url, settings)
        working = asyncio.create_task(perform(run, writer))
        await asyncio.wait_for(remote.open.wait(), DEADLINE)
        for number, content in enumerate(contents):
            await send(run, cast.alice, f"m{number}", content)
        await asyncio.wait_for(working, DEADLINE)
        await http.close()
    return run, await db(log_of, run), far.calls[1:]


async def reads(remote: Remote, call: Call) -> None:
    """It has read the message with its answer."""
    await call.answer(204)
    if call.input["content"] == "stop":
        await remote.end()


class TestRemoteAgents:
    @pytest.mark.parametrize("endless", [b"x: y\r\n", b"\r\n" + 65_536 * b"x"])
    async def test_an_answer_without_end_holds_up_no_message(
        self, cast: Cast, writer: JournalWriter, endless: bytes
    ) -> None:
        """Headers, or a body of which nothing is kept."""

        async def answer(remote: Remote, call: Call) -> None:
            if call.input["content"] == "stop":
                return await reads(remote, call)
            await call.raw(b"HTTP/1.1 200 X\r\n")
            with suppress(ConnectionError):
                while True:
                    await call.raw(endless)
                    await asyncio.sleep(0.01)

        _, _, calls = await steered(
            Remote(answer), cast, writer, "faster", "stop", steering="/say", connect_seconds=0.3
        )
        assert {call.input["content"] for call in calls} == {"faster", "stop"}

    async def test_it_reads_messages_at_an_address_of_its_row(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        path = "/runs/{run_id}/say"
        remote = Remote(reads)
        run, log, calls = await steered(remote, cast, writer, "faster", "stop", steering=path)
        assert [call.head.split(" ")[1] for call in calls] == 2 * [f"/runs/{run.run_id}/say"]
        assert calls[0].input == {"id": "m0", "role": "user", "content": "faster"}
        assert conversation(log)[:3] == [
            ("user", "Go."), ("assistant", "Working."), ("user", "faster"),
        ]  # fmt: skip
        first = (await db(listed, run, cast.alice))[0]
        assert log[first["seen_seq"] - 1]["messageId"] == "m0"

    @pytest.mark.parametrize("answers", [True, False])
    async def test_it_declares_the_address_in_its_answer_and_says_itself_what_it_read(
        self, cast: Cast, writer: JournalWriter, answers: bool
    ) -> None:
        """Its events count also if they come before its answer, or without one."""

        async def keeps(remote: Remote, call: Call) -> None:
            echo = [{**e, "role": "user"} if "role" in e else e for e in text("faster", "m0")]
            if answers:
                await call.answer(202, b'{"seq": 1}')
            await remote.end(*echo, *text("So be it.", "a"))

        remote = Remote(keeps, declares="say")
        run, log, calls = await steered(remote, cast, writer, "faster")
        assert calls[0].head.startswith("POST /say ")
        assert conversation(log)[1:] == [
            ("assistant", "Working."), ("user", "faster"), ("assistant", "So be it."),
        ]  # fmt: skip
        (row,) = await db(listed, run, cast.alice)
        assert log[row["seen_seq"] - 1]["messageId"] == "m0"

    async def test_a_message_that_it_keeps_and_never_reads_is_unread(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        async def keeps(remote: Remote, call: Call) -> None:
            await call.answer(202)
            await remote.end()

        run, log, _ = await steered(Remote(keeps), cast, writer, "faster", steering="say")
        (row,) = await db(listed, run, cast.alice)
        assert row["seen_seq"] is None
        assert ("user", "faster") not in conversation(log)

    @pytest.mark.parametrize(("statuses", "is_read"), [((503, 429, 200), True), ((409,), False)])
    async def test_one_that_refuses(
        self, cast: Cast, writer: JournalWriter, statuses: tuple[int, ...], is_read: bool
    ) -> None:
        left = list(statuses)

        async def refuses(remote: Remote, call: Call) -> None:
            await call.answer(left.pop(0))
            if not left:
                asyncio.get_running_loop().call_later(0.2, partial(later.set_result, None))
                await later
                await remote.end()

        later = asyncio.get_running_loop().create_future()
        run, _, calls = await steered(Remote(refuses), cast, writer, "faster", steering="say")
        assert len(calls) == len(statuses)
        assert {call.input["id"] for call in calls} == {"m0"}
        (row,) = await db(listed, run, cast.alice)
        assert bool(row["seen_seq"]) is is_read

    async def test_an_endless_answer_to_a_message_is_not_read(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        async def answers(remote: Remote, call: Call) -> None:
            await call.raw(STREAM)
            with suppress(ConnectionError):
                while len(pieces) < ENDLESS:
                    await call.chunk(bytes(1024 * 1024))
                    pieces.append(call)
            await remote.end()

        pieces: list[Call] = []
        run, _, _ = await steered(Remote(answers), cast, writer, "faster", steering="say")
        assert len(pieces) < ENDLESS
        (row,) = await db(listed, run, cast.alice)
        assert row["seen_seq"]

    @pytest.mark.parametrize("path", ["http://127.0.0.1:9/say", "//elsewhere/say", "http://["])
    async def test_no_other_origin_gets_messages(
        self, cast: Cast, writer: JournalWriter, path: str
    ) -> None:
        remote = Remote(reads, declares=path)
        async with peer(remote) as far:
            run = await db(begun, cast, "http", far.url, {})
            working = asyncio.create_task(perform(run, writer))
            await asyncio.wait_for(remote.open.wait(), DEADLINE)
            await send(run, cast.alice, "m0", "faster")
            await remote.end()
            await asyncio.wait_for(working, DEADLINE)
            await http.close()
        assert len(far.calls) == 1
        assert (await db(listed, run, cast.alice))[0]["seen_seq"] is None


class TestCommands:
    async def steer(
        self, cast: Cast, writer: JournalWriter, code: str, *contents: str, **settings: Any
    ) -> tuple[Run, list[dict[str, Any]]]:
        values = {"argv": script(code), "unconfined": True, **settings}
        run = await db(begun, cast, "process", "", values)
        working = asyncio.create_task(perform(run, writer))
        assert await until_running(run)
        for number, content in enumerate(contents):
            await send(run, cast.alice, f"m{number}", content)
        await asyncio.wait_for(working, DEADLINE)
        return run, await db(log_of, run)

    async def test_a_command_gets_each_message_as_a_line(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        long = "x" * 90_000  # longer than a pipe
        contents = ("faster", long, "stop")
        run, log = await self.steer(cast, writer, READER, *contents, steering="json")
        contents_read = [content for role, content in conversation(log) if role == "user"]
        assert contents_read == ["Go.", *contents]
        printed = "".join(c for role, c in conversation(log) if role == "assistant")
        assert printed == f"input Go.\nread faster\nread {long}\nread stop\n"
        assert all(row["seen_seq"] for row in await db(listed, run, cast.alice))

    async def test_claude_gets_its_own_lines_and_ends_after_its_result(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        values = {"steering": "claude", "stdin": "text", "output": "claude"}
        run, log = await self.steer(cast, writer, CLAUDE, "faster", **values)
        assert log[-1]["type"] == "RUN_FINISHED", log[-1]
        texts = conversation(log)
        assert [c for role, c in texts if role == "assistant"] == [
            "You say Go.. ", "You say faster. ",
        ]  # fmt: skip
        assert ("user", "faster") in texts
        assert (await db(listed, run, cast.alice))[0]["seen_seq"]

    async def test_a_command_whose_last_deed_is_to_read(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        """The worker looks at the pipe each half second by then."""
        late = """
            import sys, time
            sys.stdin.readline()
            print("begun", flush=True)
            time.sleep(1.4)
            sys.stdin.readline()
        """
        run, log = await self.steer(cast, writer, late, "faster", steering="json")
        (row,) = await db(listed, run, cast.alice)
        assert row["seen_seq"]
        assert log[row["seen_seq"] - 1]["messageId"] == "m0"

    async def test_a_command_that_does_not_read_leaves_the_message_unread(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        deaf = 'import sys, time; sys.stdin.readline(); print("deaf", flush=True); time.sleep(1)'
        run, log = await self.steer(cast, writer, deaf, "faster", steering="json")
        assert log[-1]["type"] == "RUN_FINISHED", log[-1]
        assert (await db(listed, run, cast.alice))[0]["seen_seq"] is None


def test_settings(cast: Cast) -> None:
    with pytest.raises(BadSettings):
        Command.of({"argv": ["x"], "steering": "yes"})
    headers = {"content-type": "application/json", **cast.alice.headers}
    for bad in ("http://elsewhere/", "//elsewhere", "http://[", 5, "a" * 501, "a\nb"):
        members = {"slug": "s", "url": "https://example.org/", "settings": {"steering": bad}}
        body = json.dumps(members).encode()
        answer = ask_now("POST", "/api/v1/agents", headers, body=body)
        assert answer.status == 422, bad
        assert answer.json["error"]["details"] == {"path": "settings.steering"}
