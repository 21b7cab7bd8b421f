"""Remote agents, good and hostile: a run ends once, cleanly, with a code that names the cause."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import http
from agui_host.runtimes.kinds.http import HttpRuntime, Timeouts
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run, Status
from tests.cast import Cast, log_of, perform, start
from tests.runtimes.kinds.peers import FINISHED, STARTED, STREAM, Call, Peer, peer, text

pytestmark = pytest.mark.django_db(transaction=True)
LIMITS = {"connect_seconds": 2, "idle_seconds": 1, "event_seconds": 1}


@pytest.fixture(autouse=True)
async def nothing_left(settings: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(http, "PAUSES", (0.01, 0.01))
    yield
    await http.close()


async def run_at(
    url: str,
    cast: Cast,
    writer: JournalWriter,
    *,
    headers: Any = None,
    middleware: list[Any] | None = None,
    **more: Any,
) -> tuple[Run, list[dict[str, Any]]]:
    """A run of an agent at that address, from the database to its stored end."""

    def prepare() -> Run:
        settings = {**LIMITS, **more}
        agent = Agent(team=cast.team, slug="far", name="Far", kind="http", target=url)
        agent.settings, agent.middleware = settings, middleware or []
        agent.seal({"headers": headers or {}})
        agent.save()
        return start(cast.alice, agent, messages=[{"id": "u", "role": "user", "content": "Hi"}])

    run = await db(prepare)
    done = await asyncio.wait_for(perform(run, writer), 30)
    log = await db(log_of, done)
    ends = [event for event in log if event["type"] in ("RUN_FINISHED", "RUN_ERROR")]
    assert ends == log[-1:]
    await http.close()
    return done, log


async def stream(call: Call, *events: dict[str, Any]) -> None:
    await call.raw(STREAM)
    await call.events(STARTED, *events)


async def well(call: Call) -> None:
    await stream(call, *text("Hello"), FINISHED)
    await call.chunk(b"")


# --- good peers


async def test_a_run_of_a_remote_agent(cast: Cast, writer: JournalWriter) -> None:
    async with peer(well) as far:
        secret = {"Authorization": "Bearer s3cret", "X-Team": "acme"}
        run, log = await run_at(far.url, cast, writer, headers=secret)
    assert run.status == Status.SUCCEEDED
    assert [event.get("delta") for event in log if "delta" in event] == ["Hello"]
    assert {log[0]["threadId"], log[-1]["threadId"]} == {run.thread.thread_id}
    (call,) = far.calls
    assert call.head.startswith("POST /agent HTTP/1.1\r\n")
    assert "authorization: bearer s3cret" in call.head.lower()
    assert "accept: text/event-stream" in call.head.lower()
    assert call.input["protocolVersion"] == "1.0"
    assert call.input["runId"] == run.run_id
    assert [message["content"] for message in call.input["messages"]] == ["Hi"]
    assert "s3cret" not in json.dumps(log)


@pytest.mark.parametrize("middleware", [[], [{"name": "redact", "patterns": ["zzz"]}]])
async def test_a_long_event_is_read_off_the_loop_and_stays_in_its_place(
    cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch, middleware: list[Any]
) -> None:
    here, threads = threading.get_ident(), []
    accept = Intake.accept

    def watched(intake: Intake, event: Any) -> Any:
        threads.append((event["type"], threading.get_ident() != here))
        return accept(intake, event)

    monkeypatch.setattr(Intake, "accept", watched)
    long = {"type": "STATE_SNAPSHOT", "snapshot": {"a": ["x" * 10] * 4_000}}

    async def behave(call: Call) -> None:
        await stream(call, *text("Hello"), long, *text("Bye", "m2"), FINISHED)

    async with peer(behave) as far:
        _, log = await run_at(far.url, cast, writer, middleware=middleware)
    assert [event["delta"] for event in log if "delta" in event] == ["Hello", "Bye"]
    assert [kind for kind, apart in threads if apart] == ["STATE_SNAPSHOT"] == [log[4]["type"]]


async def test_connections_are_kept_for_the_next_run(cast: Cast) -> None:
    async with peer(well) as far:
        for number in range(3):
            events = [event async for event in HttpRuntime(far.url).run(context(number))]
            assert events[-1] == FINISHED
        assert (far.connections, len(far.calls)) == (1, 3)
        await http.close()


async def test_what_a_1_0_peer_is_told_a_0_x_peer_is_told_its_way(cast: Cast) -> None:
    """It refuses the input with 422, as its SDK does; the second attempt has the older form."""

    async def older(call: Call) -> None:
        if "protocolVersion" in call.input:
            await call.answer(422)
        else:
            await well(call)

    async with peer(older) as far:
        events = [event async for event in HttpRuntime(far.url).run(context(0))]
        await http.close()
    assert events[-1] == FINISHED
    first, second = (call.input for call in far.calls)
    assert first["protocolVersion"] == "1.0"
    assert set(second) == {
        "threadId", "runId", "state", "messages", "tools", "context", "forwardedProps"
    }  # fmt: skip


def context(number: int) -> RunContext:
    return RunContext({"threadId": "t", "runId": f"r{number}", "messages": []})


async def test_a_cancel_reaches_the_peer_at_once(cast: Cast) -> None:
    async def endless(call: Call) -> None:
        await stream(call)
        await call.gone()

    async with peer(endless) as far:
        events = HttpRuntime(far.url, timeouts=Timeouts()).run(context(0))
        assert await anext(events) == STARTED
        await events.aclose()
        await asyncio.wait_for(far.left.wait(), 5)
        reading = asyncio.create_task(_read(far))
        while len(far.calls) < 2:
            await asyncio.sleep(0.01)
        far.left.clear()
        reading.cancel()
        await asyncio.wait_for(far.left.wait(), 5)
        await http.close()


async def _read(far: Peer) -> None:
    async for _ in HttpRuntime(far.url).run(context(1)):
        pass


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_it_is_asked_again_while_nothing_can_have_begun(
    cast: Cast, writer: JournalWriter, status: int
) -> None:
    async def third_time(call: Call) -> None:
        await (call.answer(status) if call.number < 3 else well(call))

    async with peer(third_time) as far:
        run, _ = await run_at(far.url, cast, writer)
    assert (run.status, len(far.calls)) == (Status.SUCCEEDED, 3)


# --- redirects


async def test_307_is_followed_and_secrets_stay_at_home(cast: Cast, writer: JournalWriter) -> None:
    async def elsewhere(call: Call) -> None:
        if call.number == 1:
            await call.answer(307, location="/other")
        else:
            await call.answer(308, location=there.url)

    async with peer(well) as there, peer(elsewhere) as far:
        run, _ = await run_at(far.url, cast, writer, headers={"X-Key": "s3cret"})
    assert run.status == Status.SUCCEEDED
    assert far.calls[1].head.startswith("POST /other ")
    assert all("s3cret" in call.head for call in far.calls)
    assert "s3cret" not in there.calls[0].head
    assert there.calls[0].body == far.calls[0].body


async def test_a_redirect_inside_is_refused(
    cast: Cast, writer: JournalWriter, settings: Any
) -> None:
    async def inside(call: Call) -> None:
        await call.answer(307, location="http://169.254.169.254/latest/meta-data/")

    async with peer(inside) as far:
        run, _ = await run_at(far.url, cast, writer)
    assert run.error_code == "upstream_http"
    assert "public addresses only" in run.error_message


# --- bad input


async def answers_301(call: Call) -> None:
    await call.answer(301, location="/final")


async def answers_401(call: Call) -> None:
    await call.answer(401, b"no", www_authenticate="Bearer")


async def answers_500(call: Call) -> None:
    await call.answer(500, b"Traceback: secret internals")


async def answers_503_for_ever(call: Call) -> None:
    await call.answer(503)


async def answers_422_for_ever(call: Call) -> None:
    await call.answer(422)


async def redirects_for_ever(call: Call) -> None:
    await call.answer(307, location="/agent")


async def answers_html(call: Call) -> None:
    await call.answer(200, b"<html>", content_type="text/html")


async def answers_json(call: Call) -> None:
    await call.answer(200, b"{}", content_type="application/json")


async def compresses(call: Call) -> None:
    await call.answer(200, b"xx", content_type="text/event-stream", content_encoding="gzip")


async def speaks_no_http(call: Call) -> None:
    await call.raw(b"220 mail.example ESMTP\r\n\r\n")
    await call.gone()


async def endless_head(call: Call) -> None:
    await call.raw(b"HTTP/1.1 200 OK\r\nx: ")
    while True:
        await call.raw(b"x" * 10_000)


async def endless_line(call: Call) -> None:
    await stream(call, *text("before"))
    await call.chunk(b"data: ")
    while True:
        await call.chunk(b"x" * 50_000)


async def no_json(call: Call) -> None:
    await stream(call)
    await call.chunk(b"data: oops\n\n")
    await call.gone()


async def half_utf8(call: Call) -> None:
    await stream(call, *text("before"))
    await call.chunk(b'data: {"type": "CUSTOM", "name": "x", "value": "\xf0\x9f\n\n')
    await call.gone()


async def no_terminal(call: Call) -> None:
    await stream(call, *text("before")[:2])
    await call.chunk(b"")


async def nothing_at_all(call: Call) -> None:
    await call.raw(STREAM)
    await call.chunk(b"")


async def cut_in_a_frame(call: Call) -> None:
    await stream(call, *text("before"))
    await call.chunk(b'data: {"type": "RUN_FIN')
    await call.chunk(b"")


async def resets_before_the_answer(call: Call) -> None:
    call.reset()


async def resets_in_the_middle(call: Call) -> None:
    await stream(call, *text("before"))
    call.reset()


async def silent(call: Call) -> None:
    await call.gone()


async def silent_before_the_first_event(call: Call) -> None:
    await call.raw(STREAM)
    await call.gone()


async def silent_behind_the_first_event(call: Call) -> None:
    await stream(call, *text("before")[:2])
    await call.gone()


async def comments_only(call: Call) -> None:
    await stream(call)
    while True:
        await call.chunk(b": still here\n\n")
        await asyncio.sleep(0.1)


HOSTILE = [
    (answers_301, "upstream_http", "301"),
    (answers_401, "upstream_http", "401"),
    (answers_500, "upstream_http", "500"),
    (answers_503_for_ever, "upstream_http", "503"),
    (answers_422_for_ever, "upstream_http", "422"),
    (redirects_for_ever, "upstream_http", "more than 3 times"),
    (answers_html, "upstream_http", "event stream"),
    (answers_json, "upstream_http", "event stream"),
    (compresses, "upstream_http", "compresses"),
    (speaks_no_http, "upstream_http", "HTTP"),
    (endless_head, "upstream_http", "HTTP"),
    (endless_line, "event_too_large", "bytes"),
    (no_json, "invalid_event", "JSON"),
    (half_utf8, "invalid_event", "JSON"),
    (no_terminal, "upstream_closed", "without ending"),
    (nothing_at_all, "upstream_closed", "without ending"),
    (cut_in_a_frame, "upstream_closed", "without ending"),
    (resets_before_the_answer, "upstream_closed", "closed the connection early"),
    (resets_in_the_middle, "upstream_closed", "closed the connection early"),
    (silent, "upstream_timeout", "in time"),
    (silent_before_the_first_event, "upstream_timeout", "silent"),
    (silent_behind_the_first_event, "upstream_timeout", "silent"),
    (comments_only, "upstream_timeout", "silent"),
]


@pytest.mark.parametrize(
    ("script", "code", "words"), HOSTILE, ids=[script.__name__ for script, _, _ in HOSTILE]
)
async def test_a_hostile_peer_ends_the_run_once_with_a_code_that_names_the_cause(
    cast: Cast, writer: JournalWriter, settings: Any, script: Any, code: str, words: str
) -> None:
    settings.AGUI_MAX_EVENT_BYTES = 300_000
    async with peer(script) as far:
        run, log = await run_at(far.url, cast, writer)
    assert run.status == Status.FAILED
    assert (log[-1]["type"], log[-1]["code"]) == ("RUN_ERROR", code)
    assert words in log[-1]["message"]
    assert "secret" not in json.dumps(log)
    said_before = "before" in script.__code__.co_consts
    assert [event["delta"] for event in log if "delta" in event] == ["before"] * said_before


async def test_what_comes_behind_the_end_is_not_heard(cast: Cast, writer: JournalWriter) -> None:
    async def talkative(call: Call) -> None:
        await stream(call, *text("Hello"), FINISHED, *text("more", "m2"), FINISHED)
        while True:
            await call.chunk(b": " + b"x" * 10_000 + b"\n\n")

    async with peer(talkative) as far:
        run, log = await run_at(far.url, cast, writer)
    assert run.status == Status.SUCCEEDED
    assert [event["delta"] for event in log if "delta" in event] == ["Hello"]


async def test_nobody_is_there(cast: Cast, writer: JournalWriter) -> None:
    async with peer(well) as far:
        url = far.url
    run, _ = await run_at(url, cast, writer)
    assert (run.error_code, "reached" in run.error_message) == ("upstream_http", True)


async def test_an_address_that_is_not_allowed_is_never_called(
    cast: Cast, writer: JournalWriter, settings: Any
) -> None:
    settings.AGUI_OUTBOUND_ALLOW = []
    async with peer(well) as far:
        run, _ = await run_at(far.url, cast, writer)
    assert run.error_code == "upstream_http"
    assert far.connections == 0
