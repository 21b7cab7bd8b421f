"""A grant or a link for one run shows the run alone: every reader, with secrets in all the rest.

The secrets stand in the messages and the state of an earlier run, and in the state that a client
sends. The agent repeats them in snapshots of the state and of the messages, and in a RAW event.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import get_resolver

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import registry
from agui_host.web import routing
from agui_host.web.consumers.export.exports import FORMATS
from events.writer import JournalWriter
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.models import Run, Thread, Visibility
from tests.asgi import Exchange
from tests.cast import Cast, fresh, gathered, new_agent, perform, set_stage, start
from tests.suite.rows.kept_rows import KeptRows
from tests.tenancy.readers import (
    ACTS,
    API,
    BY_LINK,
    READERS,
    RUN,
    SHARED,
    STREAM,
    TELLS,
    Reader,
    get,
)
from tests.tenancy.routes import asgi_routes, django_routes, http_router

SECRET = b"SECRET"
END = b"OWN end"
MESSAGE = {"id": "user-live", "role": "user", "content": "OWN question"}
EARLIER = {"deep": {"text": "SECRET state", "n": 1}, "list": ["SECRET item"], "same": 1}


async def talk(ctx: Any) -> AsyncIterator[Any]:
    """The first run leaves secrets behind; later ones repeat all that they know."""
    body, name = ctx.body, f"own-{ctx.run_id}"
    text = "SECRET answer" if ctx.run_id == "earlier" else "OWN words"
    yield {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": text}
    yield {"type": "TEXT_MESSAGE_END", "messageId": name}
    if ctx.run_id == "earlier":
        yield {"type": "STATE_SNAPSHOT", "snapshot": EARLIER}
        return
    state, mine = body["state"], {"op": "add", "path": "/mine", "value": "OWN delta"}
    restated = {"op": "replace", "path": "/deep", "value": {**state["deep"], "n": 2}}
    yield {"type": "STATE_DELTA", "delta": [mine, restated]}
    more = {"mine": "OWN delta", "more": ["OWN state"]}
    yield {"type": "STATE_SNAPSHOT", "snapshot": {**state, **more}}
    streamed = {"id": name, "role": "assistant", "content": text}
    whole = {"id": f"whole-{ctx.run_id}", "role": "assistant", "content": f"OWN whole {ctx.run_id}"}
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [*body["messages"], streamed, whole]}
    yield {"type": "RAW", "event": body, "source": "a framework"}
    yield {"type": "CUSTOM", "name": "x", "value": 1, "rawEvent": body}


@dataclass(frozen=True)
class House:
    """A private thread of three runs; the second and the third are shared one by one.

    The second takes over the state of the first, the third gets one from its client.
    """

    cast: Cast
    runs: list[Run]
    links: list[str]
    of_thread: str

    @property
    def readers(self) -> dict[str, dict[str, str]]:
        """Those who see one run: a person and a key of another team, and a team mate."""
        page = {"origin": "http://localhost"}
        return {
            "person": self.cast.charlie.cookie | page,
            "key": self.cast.charlie.headers,
            "mate": self.cast.bob.cookie | page,
        }

    @property
    def whole(self) -> dict[str, dict[str, str]]:
        """Those who see the thread: its owner, and a reader with a grant on all of it."""
        page = {"origin": "http://localhost"}
        return {"owner": self.cast.alice.cookie | page, "thread": self.cast.vera.cookie | page}


KEPT: KeptRows[House] = KeptRows()


@pytest.fixture
async def house(monkeypatch: pytest.MonkeyPatch, writer: JournalWriter) -> House:
    """Built once, with a cast; each test finds its rows as they were then."""
    set_stage(monkeypatch)
    registry.agent("talk")(talk)
    return await db(KEPT.put_back) or await db(KEPT.keep, await _built(writer))


async def _built(writer: JournalWriter) -> House:
    cast = await db(gathered)
    agent = await db(new_agent, cast.team, "talk", talk, is_tool=True)

    async def run(name: str, text: str, **body: Any) -> Run:
        messages = [{"id": f"user-{name}", "role": "user", "content": text}]
        body |= {"threadId": "t", "runId": name, "messages": messages}
        made = await perform(await db(lambda: start(cast.alice, agent, **body)), writer)
        assert made.status == "succeeded"
        return made

    await run("earlier", "SECRET question")
    from_client = {"deep": {"text": "SECRET sent", "n": 1}, "draft": "SECRET draft"}
    runs = [await run("one", "OWN question"), await run("two", "OWN question", state=from_client)]
    return await db(_shared, cast, runs)


def _shared(cast: Cast, runs: list[Run]) -> House:
    thread = runs[0].thread
    Thread.objects.filter(pk=thread.pk).update(visibility=Visibility.PRIVATE)
    runs = [fresh(run) for run in runs]
    owner, links = cast.alice.principal, []
    for run in runs:
        sharing.share(owner, run, To(member="charlie", team=cast.other_team.pk), Terms())
        sharing.share(owner, run, To(team=cast.other_team.pk), Terms())
        sharing.share(owner, run, To(member="bob"), Terms())
        links.append(sharing.share(owner, run, To(), Terms())[1])
    sharing.share(owner, thread, To(member="vera"), Terms())
    return House(cast, runs, links, sharing.share(owner, thread, To(), Terms())[1])


CASES = [
    pytest.param(reader, id=f"{route}: {name}")
    for route, lines in READERS.items()
    for name, reader in lines.items()
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("reader", CASES)
async def test_one_run_is_shown_alone(house: House, reader: Reader) -> None:
    for run in house.runs:
        for name, headers in house.readers.items():
            text = await reader.read(headers, run, "")
            assert SECRET not in text, (name, run.run_id, _around(text, SECRET))
            for own in reader.own if name in reader.only else ():
                assert own in text, (name, run.run_id, own, text[:3000])
    for name, headers in house.whole.items():
        text = await reader.read(headers, house.runs[0], "")
        assert not reader.secret or name not in (*reader.only, "owner") or SECRET in text, name


def _around(text: bytes, word: bytes) -> bytes:
    place = text.index(word)
    return text[max(0, place - 500) : place + 100]


LIVE = {
    "joined": f"/{API}/events",
    "from the start": f"/{API}/events?after=0",
    "translated": f"/{API}/events?after=0&protocol=0.0.39",
    "durable": f"/{API}/stream?offset=-1&live=sse",
    "alpine": f"/{RUN}/events",
    "link": f"/{SHARED}/events",
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("url", LIVE.values(), ids=LIVE)
async def test_a_live_run_is_shown_alone(
    house: House, writer: JournalWriter, bell: None, url: str
) -> None:
    """While its agent works, to all who see the run alone, and not to the others."""
    may_end = asyncio.Event()

    async def talk_on(ctx: Any) -> AsyncIterator[Any]:
        async for event in talk(ctx):
            yield event
        yield {"type": "CUSTOM", "name": "x", "value": END.decode()}
        await may_end.wait()

    def shared(run: Run) -> list[str]:
        owner, team = house.cast.alice.principal, house.cast.other_team.pk
        to = (To(member="charlie", team=team), To(team=team), To(member="bob"), To())
        return [sharing.share(owner, run, each, Terms())[1] for each in to]

    agent = await db(new_agent, house.cast.team, "talk-on", talk_on)
    body = {"threadId": "t", "runId": "live", "messages": [MESSAGE], "state": EARLIER}
    run = await db(lambda: start(house.cast.alice, agent, **body))
    working = asyncio.create_task(perform(run, writer))
    try:
        token = (await db(shared, run))[-1]
        address = re.sub(r"<[^>]*>", "%s", url)
        address = address % ((token, run.pk) if "token" in url else run.pk)
        joins = url == LIVE["joined"]  # Who sees the thread gets snapshots, then what follows.
        readers = house.readers | ({} if "token" in url else house.whole)
        for name, headers in readers.items():
            accept = headers | {"accept": STREAM}
            async with asyncio.timeout(30), Exchange("GET", address, accept) as stream:
                text = await stream.until(b"OWN words" if joins and name in house.whole else END)
            assert (SECRET in text) == (name in house.whole), (name, text[:3000])
            assert b"OWN words" in text
    finally:
        may_end.set()
        await working


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("route", list(BY_LINK))
async def test_a_link_to_one_run_shows_it_alone(house: House, route: str) -> None:
    url, owns = BY_LINK[route]
    for run, token in zip(house.runs, house.links, strict=True):
        for _ in range(2):  # the second reader shares the view of the first
            text = await get(url)({}, run, token)
            assert SECRET not in text, _around(text, SECRET)
            for own in owns:
                assert own in text, (own, text[:3000])


@pytest.mark.django_db(transaction=True)
async def test_a_link_to_the_thread_shows_what_the_thread_left(house: House) -> None:
    url, _ = BY_LINK[f"{SHARED}/events"]
    text = await get(url)({}, house.runs[0], house.of_thread)
    assert b"SECRET state" in text
    assert b"SECRET answer" in text


def test_every_route_that_tells_of_runs_has_a_line() -> None:
    routes = {*django_routes(get_resolver()), *asgi_routes(http_router())}
    routes |= set(asgi_routes(routing.websocket()))
    routes = {each for each in routes if TELLS.search(each) and not each.startswith("admin/")}
    lines = {*READERS, *BY_LINK, *ACTS}
    assert routes - lines == set()
    assert lines - routes == set()


def test_every_format_of_an_export_has_a_line() -> None:
    assert set(READERS[f"{API}/export"]) == set(FORMATS)
