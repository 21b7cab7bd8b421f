"""Every way to read a run, by route, and what a reader of one run gets of it."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from runs.models import Run
from tests.asgi import ask, watch
from tests.web.calling import calling

QUESTION, WORDS, WHOLE = b"OWN question", b"OWN words", b"OWN whole"
DELTA, STATE = b"OWN delta", b"OWN state"
STREAM = "text/event-stream"
ALL_OF_IT = (WORDS, WHOLE, DELTA, STATE)

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
        places = {"run": run.pk, "hex": run.pk.hex, "name": run.run_id, "thread": run.thread_id}
        address = url.format(token=token, **places)
        outgoing = {**headers, "accept": accept, **more}
        return (await ask("GET", address, outgoing)).body

    return read


def call(method: str, *, url: str = "/mcp", **params: str) -> Read:
    """A request of MCP, or of A2A over JSON-RPC."""

    async def read(headers: Headers, run: Run, token: str) -> bytes:
        filled: dict[str, Any] = {k: v.format(run=run.pk) for k, v in params.items()}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": filled}
        return (await ask("POST", url, headers, json=body)).body

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
TALK = "threads/<uuid:key>"
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
        "cursor": Reader(
            get("/api/v1/runs/{run}/stream?offset=0000000000000004"), (DELTA, STATE), secret=True
        ),
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
    f"{API}/messages": {"messages": Reader(get("/api/v1/runs/{run}/messages"))},
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
    f"{TALK}/": {
        "thread": Reader(get("/threads/{thread}/"), (WORDS,), only=("person", "mate")),
    },
    f"{TALK}/earlier": {
        "turns": Reader(get("/threads/{thread}/earlier"), (WORDS,), only=("person", "mate")),
    },
    f"{TALK}/pulse": {
        "turns": Reader(get("/threads/{thread}/pulse?turn={run}.x"), only=("person", "mate")),
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
    "v1/conversations/<str:conversation>/items": {
        "items": Reader(get("/v1/conversations/t/items"), (), secret=True)
    },
    "v1/conversations/<str:conversation>/items/<str:item>": {
        "item": Reader(get("/v1/conversations/t/items/x"))
    },
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
    **{
        route: {
            "task": Reader(call("GetTask", url=url, id="{run}"), (WORDS,)),
            "task, 0.3": Reader(call("tasks/get", url=url, id="{run}"), (WORDS,)),
            "tasks": Reader(
                call("ListTasks", url=url, includeArtifacts="true"), (WORDS,), only=TEAM
            ),
            "subscription": Reader(call("SubscribeToTask", url=url, id="{run}")),
        }
        for route, url in ((r"^a2a/?$", "/a2a"), (r"^a2a/(?P<slug>[-\w]+)/?$", "/a2a/talk"))
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
    TALK, f"{TALK}/send", f"{TALK}/regenerate", f"{TALK}/rate", f"{TALK}/comment", f"{TALK}/change",
    f"{RUN}/again", f"{RUN}/cancel", f"{RUN}/change", f"{RUN}/continue", f"{RUN}/say",
    f"{RUN}/label",
    "runs/import", "runs/act",
    f"{API}/labels", "api/v1/datasets/<uuid:data_set_id>/runs",
    "api/v1/datasets/<uuid:data_set_id>/runs/<uuid:run_id>",
    "runs", RUN, "runs/views", "runs/views/<uuid:view_id>/remove",
    "runs/views/<uuid:view_id>/rename", "team/schedules/<uuid:schedule_id>/run",
    "team/shared/", "team/shared/<uuid:grant_id>/revoke",
    "team/threads/", "team/threads/<uuid:key>/erase", "team/threads/<uuid:key>/hand-over",
    "api/v1/left-threads", "api/v1/left-threads/<uuid:key>",
    "api/v1/left-threads/<uuid:key>/hand-over",
    *(
        f"a2a/{place}{address}"
        for place in ("", "<slug:slug>/")
        for address in (
            "tasks/<str:task>:cancel",
            "tasks/<str:task>/pushNotificationConfigs",
            "tasks/<str:task>/pushNotificationConfigs/<str:name>",
        )
    ),
    "api/v1/views/<uuid:view_id>", ".well-known/oauth-protected-resource/mcp",
    # Its ticket is for a thread, which the caller must see.
    "agui/intelligence/socket/websocket",
}  # fmt: skip
"""Routes that start or change something, and tell nothing of a log that was there before."""
TELLS = re.compile(
    "run|thread|task|response|conversation|chat|shared|mcp|ws/|agui|socket"
    r"|^\^a2a/\?\$$|^\^a2a/\(\?P<slug>\[-\\w\]\+\)/\?\$$"
)
