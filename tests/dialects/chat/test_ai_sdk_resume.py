"""A page of the AI SDK loads its messages and resumes; the run may end at any point of this."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.ai_sdk import endpoints as ai_sdk
from agui_host.dialects.ai_sdk import resumes, ui_messages
from agui_host.dialects.ai_sdk.message import UIMessage
from runs.access import threads
from runs.lifecycle import turns
from runs.models import Run
from tests.asgi import Exchange, ask
from tests.cast import Cast, LiveRun, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = "/api/chat/echo/t"
BEGINNING, REST = ["Once", "upon"], ["a", "time"]
Json = dict[str, Any]


@pytest.fixture
async def live(cast: Cast, writer: Any) -> LiveRun:
    messages = [{"role": "user", "content": "A story, please."}]
    run = await db(lambda: start(cast.alice, threadId="t", messages=messages))
    live = await LiveRun.begin(run, writer)
    await live.say(*BEGINNING)
    return live


class Ending:
    """Ends the run once, from wherever it is called."""

    def __init__(self, live: LiveRun) -> None:
        self._live, self._loop = live, asyncio.get_running_loop()
        self.happened = False

    async def now(self) -> None:
        if not self.happened:
            self.happened = True
            await self._live.say(*REST)
            await self._live.end()

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with the end before it; called in a thread of the database."""

        def ending(*args: Any, **kwargs: Any) -> Any:
            asyncio.run_coroutine_threadsafe(self.now(), self._loop).result(30)
            return function(*args, **kwargs)

        return ending

    def behind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with the end behind it."""

        def ending(*args: Any, **kwargs: Any) -> Any:
            outcome = function(*args, **kwargs)
            asyncio.run_coroutine_threadsafe(self.now(), self._loop).result(30)
            return outcome

        return ending


def text(messages: list[Json]) -> list[str]:
    (message,) = (each for each in messages if each["role"] == "assistant")
    return [part["data"] for part in message["parts"] if part["type"] == "data-said"]


async def resumed(cast: Cast, loaded: list[Json]) -> list[Json]:
    """What the page shows then: a message that is replayed replaces its beginning."""
    answer = await ask("GET", f"{CHAT}/stream", cast.alice.headers)
    if answer.status == 204:
        return loaded
    assert answer.status == 200
    message = UIMessage()
    *chunks, done = (line[6:] for line in answer.body.decode().splitlines() if line[:6] == "data: ")
    assert done == "[DONE]"
    for chunk in chunks:
        message.feed(json.loads(chunk))
    return [each for each in loaded if each["id"] != message.wire()["id"]] + [message.wire()]


async def load(cast: Cast) -> list[Json]:
    messages: list[Json] = (await ask("GET", CHAT, cast.alice.headers)).json
    return messages


POINTS: dict[str, tuple[Any, str, str]] = {
    "before the messages are looked up": (turns, "newest", "before"),
    "when it was found that the run is active": (turns, "newest", "behind"),
    "before the log is read": (ui_messages, "_turn", "before"),
    "when the log was read": (ui_messages, "of_thread", "behind"),
    "before the resume looks for an active run": (threads, "active", "before"),
    "when the resume has found one": (threads, "active", "behind"),
    "when the resume has read its turn": (resumes, "turn", "behind"),
}


@pytest.mark.parametrize("point", POINTS)
async def test_the_run_ends(
    point: str, cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, side = POINTS[point]
    ending = Ending(live)
    monkeypatch.setattr(module, name, getattr(ending, side)(getattr(module, name)))
    page = await resumed(cast, await load(cast))
    assert ending.happened
    assert text(page) == BEGINNING + REST
    assert page == await load(cast), "another reload changes nothing"


async def test_the_run_ends_as_the_stream_begins(
    cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, stream_run = Ending(live), ai_sdk.stream_run

    async def late(*args: Any, **kwargs: Any) -> None:
        await ending.now()
        await stream_run(*args, **kwargs)

    monkeypatch.setattr(ai_sdk, "stream_run", late)
    assert text(await resumed(cast, await load(cast))) == BEGINNING + REST


async def test_only_a_page_with_a_beginning_gets_the_end(cast: Cast, live: LiveRun) -> None:
    """Each of two pages once; nothing runs for any other reader."""
    loaded = [await load(cast), await load(cast)]
    await Ending(live).now()
    for page in loaded:
        assert text(page) == BEGINNING
        assert text(await resumed(cast, page)) == BEGINNING + REST
    for _ in range(2):
        assert (await ask("GET", f"{CHAT}/stream", cast.alice.headers)).status == 204
    await load(cast)
    assert (await ask("GET", f"{CHAT}/stream", cast.alice.headers)).status == 204
    assert (await ask("GET", f"{CHAT}/stream", cast.charlie.headers)).status == 204


def frames(body: bytes) -> list[Any]:
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line]
    return [json.loads(line) for line in lines if line != b"[DONE]" and line[:1] == b"{"]


@pytest.mark.parametrize("end", ["end", "fail"])
async def test_a_stream_that_broke_continues_by_the_runs_id_and_a_count(
    cast: Cast, live: LiveRun, end: str
) -> None:
    await live.say(*REST)
    await getattr(live, end)()
    url = f"/api/chat/echo/{live.run.pk}/stream"
    whole = await ask("GET", url, cast.alice.headers)
    assert (whole.status, whole.headers["x-workflow-run-id"]) == (200, str(live.run.pk))
    every = frames(whole.body)
    assert (every[0]["type"], every[-1]["type"]) == ("start", "finish")
    for count in range(len(every) + 1):
        rest = await ask("GET", f"{url}?startIndex={count}", cast.alice.headers)
        # The client waits for a finish, so one that failed has one behind all that is counted.
        assert frames(rest.body) == (every[count:] or ([every[-1]] if end == "fail" else []))
    junk = await ask("GET", f"{url}?startIndex=x", cast.alice.headers)
    assert frames(junk.body) == every
    stored = every if end == "end" else every[:-1]
    for count in (1, 3, len(stored), 500):
        last = await ask("GET", f"{url}?startIndex=-{count}", cast.alice.headers)
        assert last.headers["x-workflow-stream-tail-index"] == str(len(stored) - 1)
        assert frames(last.body) == every[max(0, len(stored) - count) :]
    assert (await ask("GET", url, cast.charlie.headers)).status == 204


async def test_the_answer_names_its_run(cast: Cast, writer: Any) -> None:
    body = {"id": "new", "messages": [{"id": "u", "role": "user", "parts": []}]}
    async with Exchange("POST", "/api/chat/echo", cast.alice.headers, json=body) as exchange:
        run = await db(Run.objects.get)
        assert exchange.headers["x-workflow-run-id"] == str(run.pk)
        await perform(run, writer)
        first = frames(await exchange.rest())
    again = await ask("GET", f"/api/chat/echo/{run.pk}/stream?startIndex=2", cast.alice.headers)
    assert frames(again.body) == first[2:]


async def test_a_request_without_a_chat_continues_that_of_its_answers(
    cast: Cast, live: LiveRun
) -> None:
    """``WorkflowChatTransport`` sends ``{messages}`` alone."""
    await live.end()
    asked = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "And then?"}]}
    answer = {"id": str(live.run.pk), "role": "assistant", "parts": []}

    async def thread_of(headers: Any, *messages: Json) -> tuple[Any, Any]:
        body = {"messages": [*messages, asked]}
        async with Exchange("POST", "/api/chat/echo", headers, json=body) as exchange:
            name = exchange.headers["x-workflow-run-id"]
            run = await db(Run.objects.select_related("thread").get, pk=name)
        return run.thread.team_id, run.thread.thread_id

    assert (await thread_of(cast.alice.headers, answer))[1] == "t"
    unknown = {**answer, "id": "made-up"}
    for messages in ((), (unknown,)):
        assert (await thread_of(cast.alice.headers, *messages))[1] != "t"
    team, name = await thread_of(cast.charlie.headers, answer)
    assert team != live.run.team_id
    assert name != "t"
