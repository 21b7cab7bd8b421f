"""A grant or a link for one run shows the run alone: every reader, with secrets in all the rest.

The secrets stand in the messages and the state of an earlier run, and in the state that a client
sends. The agent repeats them in snapshots of the state and of the messages, and in a RAW event.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from django.urls import get_resolver

from backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.access import sharing, sight
from runs.access.sharing import Terms, To
from runs.models import Run, Thread, Visibility
from tests.asgi import ask, watch
from tests.cast import Cast, Register, fresh, perform, start
from tests.tenancy.routes import asgi_routes, django_routes, http_router
from tests.web.calling import calling
from web import routing
from web.consumers.export.exports import FORMATS

SECRET = b"SECRET"
QUESTION, WORDS, WHOLE = b"OWN question", b"OWN words", b"OWN whole"
DELTA, STATE = b"OWN delta", b"OWN state"
STREAM = "text/event-stream"
EARLIER = {"deep": {"text": "SECRET state", "n": 1}, "list": ["SECRET item"], "same": 1}
ALL_OF_IT = (WORDS, WHOLE, DELTA, STATE)


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


@pytest.fixture
async def house(cast: Cast, register: Register, writer: JournalWriter) -> House:
    agent = await db(register, "talk", talk, is_tool=True)

    async def run(name: str, text: str, **body: Any) -> Run:
        messages = [{"id": f"user-{name}", "role": "user", "content": text}]
        body |= {"threadId": "t", "runId": name, "messages": messages}
        made = await perform(await db(lambda: start(cast.alice, agent, **body)), writer)
        assert made.status == "succeeded"
        return made

    await run("earlier", "SECRET question")
    sent = {"deep": {"text": "SECRET sent", "n": 1}, "draft": "SECRET draft"}
    runs = [await run("one", "OWN question"), await run("two", "OWN question", state=sent)]
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


Headers = dict[str, str]
Read = Callable[[Headers, Run, str], Awaitable[bytes]]


class Reader(NamedTuple):
    """A way to read: what a reader of one run gets of it, by route.

    ``secret``: who sees the thread gets it. ``only``: the readers that may use it; for others, and
    without ``own`` for all, the answer has nothing of the run.
    """

    read: Read
    own: tuple[bytes, ...] = ()
    secret: bool = False
    only: tuple[str, ...] = ("person", "key", "mate")


def get(url: str, *, accept: str = "*/*", **more: str) -> Read:
    async def read(headers: Headers, run: Run, token: str) -> bytes:
        address = url.format(run=run.pk, hex=run.pk.hex, name=run.run_id, token=token)
        asked = {**headers, "accept": accept, **more}
        return (await ask("GET", address, asked)).body

    return read


def call(method: str, **params: str) -> Read:
    """A request of MCP."""

    async def read(headers: Headers, run: Run, token: str) -> bytes:
        filled: dict[str, Any] = {k: v.format(run=run.pk) for k, v in params.items()}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": filled}
        return (await ask("POST", "/mcp", headers, json=body)).body

    return read


def post(url: str) -> Read:
    async def read(headers: Headers, run: Run, token: str) -> bytes:
        body = {"threadId": "t", "runId": "new", "messages": []}
        return (await ask("POST", url, headers, json=body)).body

    return read


def socket(url: str) -> Read:
    async def read(headers: Headers, run: Run, token: str) -> bytes:
        frames, _ = await watch(url.format(run=run.pk, name=run.run_id), headers)
        return repr(frames).encode()

    return read


async def _run_on_socket(headers: Headers, run: Run, token: str) -> bytes:
    async with calling(headers) as peer:
        result = await peer.call("run.subscribe", run=str(run.pk), after=0)
        return repr(await peer.until_end(result["subscription"])).encode()


async def _run_on_socket_with_credit(headers: Headers, run: Run, token: str) -> bytes:
    """From a cursor, and with acknowledgements: the log is followed again between two pieces."""
    async with calling(headers) as peer:
        result = await peer.call("run.subscribe", run=str(run.pk), after=3, window=1)
        texts, name = "", result["subscription"]
        while (note := await peer.note())["method"] != "end":
            if note["method"] == "event":
                texts += repr(note)
                params = note["params"]
                await peer.notify("ack", subscription=name, run=params["run"], seq=params["seq"])
        return texts.encode()


async def _thread_on_socket(headers: Headers, run: Run, token: str) -> bytes:
    """All that a reader of the thread gets up to the end of its newest run."""
    async with calling(headers) as peer:
        answer = await peer.answer("thread.subscribe", thread_id="t", after=0)
        if "error" in answer:
            return b""
        texts, ended = "", 0
        while ended < 2:
            params = await peer.params("event")
            texts += repr(params)
            ended += params["event"]["type"] == "RUN_FINISHED"
        return texts.encode()


RUN = "runs/<uuid:run_id>"
API, SHARED = f"api/v1/{RUN}", f"shared/<str:token>/{RUN}"
AGUI = r"^(?:api/)?agui"
TEAM = ("mate",)
"""Routes that find runs of the own team only."""

READERS: dict[str, dict[str, Reader]] = {
    f"{API}/events": {
        "sse": Reader(get("/api/v1/runs/{run}/events", accept=STREAM), ALL_OF_IT, secret=True),
        "sse, cursor": Reader(
            get("/api/v1/runs/{run}/events?after=4", accept=STREAM), (DELTA, STATE, WHOLE), True
        ),
        "sse, 0.x": Reader(
            get("/api/v1/runs/{run}/events?protocol=0.0.40&after=2", accept=STREAM), ALL_OF_IT, True
        ),
        "sse, rawless": Reader(
            get("/api/v1/runs/{run}/events?raw=false", accept=STREAM), ALL_OF_IT, secret=True
        ),
        "page": Reader(get("/api/v1/runs/{run}/events"), (*ALL_OF_IT, QUESTION), secret=True),
        "page, rawless": Reader(get("/api/v1/runs/{run}/events?raw=false"), ALL_OF_IT, secret=True),
        "page, cursor": Reader(get("/api/v1/runs/{run}/events?after=6"), (STATE, WHOLE), True),
        "page, type": Reader(get("/api/v1/runs/{run}/events?type=state"), (DELTA, STATE), True),
    },
    f"{API}/stream": {
        "pages": Reader(get("/api/v1/runs/{run}/stream"), ALL_OF_IT, secret=True),
        "cursor": Reader(get("/api/v1/runs/{run}/stream?offset=4"), (DELTA, STATE), True),
        "long-poll": Reader(
            get("/api/v1/runs/{run}/stream?offset=-1&live=long-poll"), ALL_OF_IT, secret=True
        ),
        "sse": Reader(get("/api/v1/runs/{run}/stream?offset=-1&live=sse"), ALL_OF_IT, True),
    },
    f"{API}/export": {
        "ndjson": Reader(get("/api/v1/runs/{run}/export"), ALL_OF_IT, secret=True),
        "messages": Reader(
            get("/api/v1/runs/{run}/export?format=messages"), (QUESTION, WORDS, WHOLE), True
        ),
        "trace": Reader(get("/api/v1/runs/{run}/export?format=trace"), (b"message",)),
        "html": Reader(get("/api/v1/runs/{run}/export?format=html"), ALL_OF_IT, secret=True),
        "archive": Reader(get("/api/v1/runs/{run}/export?format=archive"), (), secret=True),
    },
    f"{API}/state": {"state": Reader(get("/api/v1/runs/{run}/state"), (DELTA, STATE), True)},
    f"{API}/state/history": {
        "history": Reader(get("/api/v1/runs/{run}/state/history?path=/mine"), (b"/mine",)),
        "later": Reader(get("/api/v1/runs/{run}/state/history?after=5"), (b"snapshot",)),
    },
    f"{API}/outline": {"outline": Reader(get("/api/v1/runs/{run}/outline"), (WORDS,))},
    API: {"run": Reader(get("/api/v1/runs/{run}"), (b"succeeded",))},
    f"{API}/context": {"context": Reader(get("/api/v1/runs/{run}/context"))},
    f"{API}/findings": {"findings": Reader(get("/api/v1/runs/{run}/findings"))},
    f"{API}/failure": {"failure": Reader(get("/api/v1/runs/{run}/failure"))},
    f"{API}/comments": {"comments": Reader(get("/api/v1/runs/{run}/comments"))},
    "ws/runs/<uuid:run_id>/": {
        "socket": Reader(socket("/ws/runs/{run}/"), ALL_OF_IT, secret=True),
        "cursor": Reader(socket("/ws/runs/{run}/?after=4"), (DELTA, STATE, WHOLE), secret=True),
    },
    "ws/": {
        "run": Reader(_run_on_socket, ALL_OF_IT, secret=True),
        "credit": Reader(_run_on_socket_with_credit, (WORDS, STATE, WHOLE), secret=True),
        "thread": Reader(_thread_on_socket, ALL_OF_IT, secret=True, only=TEAM),
    },
    f"{RUN}/": {"page": Reader(get("/runs/{run}/"), (WORDS,), only=("person", "mate"))},
    f"{RUN}/compare": {
        "compare": Reader(
            get("/runs/{run}/compare?with={run}"), (b"State at the end",), only=("person", "mate")
        ),
    },
    f"{RUN}/input": {"input": Reader(get("/runs/{run}/input"))},
    f"{RUN}/questions": {"questions": Reader(get("/runs/{run}/questions"))},
    f"{RUN}/events": {
        "alpine": Reader(get("/runs/{run}/events", accept=STREAM), (WORDS, DELTA, STATE), True),
        "alpine, cursor": Reader(get("/runs/{run}/events?after=4", accept=STREAM), (STATE,), True),
    },
    "v1/responses/<str:response>": {
        "response": Reader(get("/v1/responses/resp_{hex}"), (WORDS,)),
        "stream": Reader(get("/v1/responses/resp_{hex}?stream=true"), (WORDS,)),
    },
    "v1/responses/<str:response>/input_items": {
        "input": Reader(get("/v1/responses/resp_{hex}/input_items"), (QUESTION,))
    },
    "v1/conversations/<str:conversation>": {"thread": Reader(get("/v1/conversations/t"))},
    **{
        f"a2a/{place}tasks/<str:task>": {
            "task": Reader(get(f"/a2a/{name}tasks/{{run}}"), (WORDS,)),
        }
        for place, name in (("", ""), ("<slug:slug>/", "talk/"))
    },
    **{
        f"a2a/{place}tasks": {
            "tasks": Reader(get(f"/a2a/{name}tasks?includeArtifacts=true"), (WORDS,), only=TEAM)
        }
        for place, name in (("", ""), ("<slug:slug>/", "talk/"))
    },
    **{
        f"a2a/{place}tasks/<str:task>:subscribe": {
            "task": Reader(get(f"/a2a/{name}tasks/{{run}}:subscribe"))
        }
        for place, name in (("", ""), ("<slug:slug>/", "talk/"))
    },
    r"^mcp/?$": {
        "task": Reader(call("tasks/get", taskId="{run}"), (WORDS,)),
        "run": Reader(call("resources/read", uri="agui://runs/{run}"), (WORDS,)),
        "thread": Reader(call("resources/read", uri="agui://threads/t")),
    },
    AGUI + r"/agent/(?P<slug>[-\w]+)/run/?$": {
        "tanstack": Reader(
            get("/agui/agent/talk/run?runId={name}&offset=-1"), ALL_OF_IT, secret=True, only=TEAM
        ),
        "tanstack, lines": Reader(
            get("/agui/agent/talk/run?runId={name}&offset=4", accept="application/x-ndjson"),
            (DELTA, STATE, WHOLE), secret=True, only=TEAM,
        ),
        "hydration": Reader(get("/agui/agent/talk/run?threadId=t"), (), secret=True),
    },
    AGUI + r"/agent/(?P<slug>[-\w]+)/ws/?$": {
        "tanstack": Reader(
            socket("/agui/agent/talk/ws?runId={name}&offset=-1"), ALL_OF_IT, True, only=TEAM
        ),
    },
    AGUI + r"/agent/(?P<slug>[-\w]+)/connect/?$": {
        "connect": Reader(post("/agui/agent/talk/connect"), (), secret=True)
    },
    AGUI + r"/intelligence/agent/(?P<slug>[-\w]+)/connect/?$": {
        "connect": Reader(post("/agui/intelligence/agent/talk/connect"))
    },
    AGUI + r"/threads/?$": {"threads": Reader(get("/agui/threads?agentId=talk"))},
    AGUI + r"/threads/(?P<thread_id>.+)/events/?$": {
        "events": Reader(get("/agui/threads/t/events"), (), secret=True)
    },
    AGUI + r"/threads/(?P<thread_id>.+)/messages/?$": {
        "messages": Reader(get("/agui/threads/t/messages"), (), secret=True)
    },
    AGUI + r"/threads/(?P<thread_id>.+)/state/?$": {
        "state": Reader(get("/agui/threads/t/state"), (), secret=True)
    },
    r"^api/chat/(?P<slug>[-\w]+)/(?P<chat>.+?)/?$": {
        "messages": Reader(get("/api/chat/talk/t"), (), secret=True)
    },
    r"^api/chat/(?P<slug>[-\w]+)/(?P<chat>.+)/stream/?$": {
        "stream": Reader(get("/api/chat/talk/t/stream"))
    },
    "api/v1/runs": {"runs": Reader(get("/api/v1/runs"), (b"succeeded",), only=TEAM)},
    "api/v1/threads": {"threads": Reader(get("/api/v1/threads"))},
    "runs/": {"runs": Reader(get("/runs/"), (b"talk",), only=TEAM)},
    "runs/pulse": {"runs": Reader(get("/runs/pulse"))},
}  # fmt: skip

BY_LINK: dict[str, tuple[str, tuple[bytes, ...]]] = {
    "shared/<str:token>/": ("/shared/{token}/", (WORDS,)),
    f"{SHARED}/": ("/shared/{token}/runs/{run}/", (WORDS,)),
    f"{SHARED}/events": ("/shared/{token}/runs/{run}/events", ALL_OF_IT),
    f"{SHARED}/outline": ("/shared/{token}/runs/{run}/outline", (WORDS,)),
    f"{SHARED}/comments": ("/shared/{token}/runs/{run}/comments", ()),
    f"{SHARED}/status": ("/shared/{token}/runs/{run}/status", (b"succeeded",)),
}

ACTS = {
    AGUI + r"/?$", AGUI + r"/info/?$", AGUI + r"/intelligence/info/?$", "agents/run",
    AGUI + r"/agent/(?P<slug>[-\w]+)/stop/(?P<thread_id>.+?)/?$",
    AGUI + r"/intelligence/agent/(?P<slug>[-\w]+)/run/?$",
    r"^api/chat/(?P<slug>[-\w]+)/(?P<chat>.+?)/stop/?$", r"^api/chat/(?P<slug>[-\w]+)/?$",
    "v1/responses", "v1/responses/<str:response>/cancel", "v1/conversations", "v1/chat/completions",
    f"{API}/cancel", f"{API}/comments/<uuid:comment_id>", f"{API}/feedback", "api/v1/runs/import",
    "api/v1/threads/<uuid:key>", "api/v1/schedules/<uuid:schedule_id>/run",
    f"{RUN}/again", f"{RUN}/cancel", f"{RUN}/change", f"{RUN}/continue", "runs/import", "runs/act",
    "runs", RUN, "runs/views", "runs/views/<uuid:view_id>/remove",
    "runs/views/<uuid:view_id>/rename", "team/schedules/<uuid:schedule_id>/run", "team/shared/", "team/shared/<uuid:grant_id>/revoke",
    *(
        f"a2a/{place}{address}"
        for place in ("", "<slug:slug>/")
        for address in (
            "message:send", "message:stream", "tasks/<str:task>:cancel",
            "tasks/<str:task>/pushNotificationConfigs",
            "tasks/<str:task>/pushNotificationConfigs/<str:name>",
        )
    ),
    "api/v1/views/<uuid:view_id>", ".well-known/oauth-protected-resource/mcp",
    # Its ticket is for a thread, which the caller must see.
    "agui/intelligence/socket/websocket",
}  # fmt: skip
"""Routes that start or change something, and tell nothing of a log that was there before."""
TELLS = re.compile("run|thread|task|response|conversation|chat|shared|mcp|ws/|agui|socket")

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


@pytest.mark.django_db(transaction=True)
async def test_the_choice(house: House) -> None:
    """The one place: who sees a run alone, and who its whole thread."""
    cast, run = house.cast, house.runs[0]

    def check() -> None:
        alone = {actor: sight.of(actor.principal, run) for actor in (cast.charlie, cast.bob)}
        assert set(alone.values()) == {sight.Sight(run.pk, begins=False)}
        for actor in (cast.alice, cast.vera):
            assert sight.of(actor.principal, run) is None
            assert sight.view(actor.principal, run) is None
        assert sight.is_whole(cast.alice.principal, run)
        assert not sight.is_whole(cast.vera.principal, run), "that takes a query"
        link = sharing.open_link(house.links[0], None).principal
        assert sight.of(link, run) is not None
        assert sight.of(sharing.open_link(house.of_thread, None).principal, run) is None
        both = [each.pk for each in house.runs]
        assert set(sight.of_each(cast.bob.principal, both, cast.team.pk)) == set(both)
        assert sight.of_each(cast.vera.principal, both, cast.team.pk) == {}

    await db(check)
