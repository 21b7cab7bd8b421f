"""Chooses the app that answers, by method, path and Accept; nothing else does so.

Each route declares the kind of its POST for the gate: START, WRITE or JOIN; AS_DJANGO where Django
answers it, whose views declare theirs (``agui_host/kinds.py``).
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from channels.routing import URLRouter
from django.urls import Resolver404, path, re_path, resolve

from agui_host import kinds
from agui_host.dialects.a2a import endpoints as a2a
from agui_host.dialects.a2a import push_endpoints as a2a_push
from agui_host.dialects.a2a import rpc_endpoints as a2a_rpc
from agui_host.dialects.ai_sdk import endpoints as ai_sdk
from agui_host.dialects.alpine.endpoints import alpine
from agui_host.dialects.copilotkit.endpoints import intelligence_connect, intelligence_run
from agui_host.dialects.copilotkit.socket import intelligence_socket
from agui_host.dialects.durable_streams.endpoints import durable_stream
from agui_host.dialects.mcp import endpoints as mcp
from agui_host.dialects.openai import conversation_endpoints as conversations
from agui_host.dialects.openai import endpoints as openai
from agui_host.dialects.resources import Handle
from agui_host.dialects.tanstack.endpoints import tanstack_read
from agui_host.dialects.tanstack.socket import tanstack_socket
from agui_host.errors import NotFound
from agui_host.kinds import JOIN, READ, START, WRITE, Kind
from agui_host.web.asgi_http import close_socket
from agui_host.web.consumers.agui import agui
from agui_host.web.consumers.connect import connect
from agui_host.web.consumers.events import events
from agui_host.web.consumers.export.exports import export
from agui_host.web.consumers.files.content import content
from agui_host.web.consumers.files.upload import upload
from agui_host.web.consumers.metrics import metrics_page
from agui_host.web.consumers.shared import shared_events
from agui_host.web.consumers.socket import run_socket
from agui_host.web.consumers.wait import start_and_wait
from agui_host.web.host_socket.socket import host_socket
from agui_host.web.middleware.answer_cache import AnswerCache
from agui_host.web.scope import App, Receive, Scope, Send, headers_of

Choice = Callable[[Scope], bool]
AS_DJANGO = "as django"
POST_KIND = "agui_post_kind"
"""The attribute of a route that holds the kind of its POST."""


# Django's ``path`` is typed for views; Channels' router takes ASGI apps in their place.
Endpoint = Any


def http(django: Endpoint) -> Endpoint:
    """The HTTP side: streams go to consumers, everything else to Django."""
    post = _when(_is_post, agui, otherwise=django)
    read = _when(_is_get, tanstack_read, otherwise=django)
    stream: Endpoint = durable_stream
    file: Endpoint = export
    uploaded: Endpoint = content
    metrics: Endpoint = metrics_page
    description: Endpoint = AnswerCache(django)
    return URLRouter(
        [
            _route(START, re_path(r"^(?:api/)?agui/?$", post)),
            _route(
                START,
                re_path(
                    r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)/run/?$",
                    _when(_is_post, agui, otherwise=read),
                ),
            ),
            _route(
                JOIN,  # A reloaded front end reads its thread by POST.
                re_path(
                    r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)/connect/?$",
                    _when(_is_post, connect, otherwise=django),
                ),
            ),
            *_intelligence(django),
            _route(START, re_path(r"^$", post)),
            _route(
                AS_DJANGO,
                path(
                    "api/v1/runs/<uuid:run_id>/events",
                    _when(_wants_event_stream, events, otherwise=django),
                ),
            ),
            _route(WRITE, path("api/v1/runs/<uuid:run_id>/stream", stream)),
            _route(WRITE, path("api/v1/runs/<uuid:run_id>/export", file)),
            _route(
                AS_DJANGO,
                path(
                    "runs/<uuid:run_id>/events",
                    _when(_wants_event_stream, alpine, otherwise=django),
                ),
            ),
            _route(
                AS_DJANGO,
                path(
                    "shared/<str:token>/runs/<uuid:run_id>/events",
                    _when(_is_get, shared_events, otherwise=django),
                ),
            ),
            _route(
                START,
                re_path(
                    r"^api/chat/(?P<slug>[-\w]+)/?$", _when(_is_post, ai_sdk.chat, otherwise=django)
                ),
            ),
            _route(
                AS_DJANGO,
                re_path(
                    r"^api/chat/(?P<slug>[-\w]+)/(?P<chat>.+)/stream/?$",
                    _when(_is_get, ai_sdk.chat_stream, otherwise=django),
                ),
            ),
            *_openai(),
            *_a2a(),
            _route(START, re_path(r"^mcp/?$", cast(Endpoint, mcp.endpoint_of_mcp))),
            *(
                _route(
                    WRITE,
                    path(
                        f".well-known/oauth-protected-resource{end}",
                        cast(Endpoint, mcp.protected_resource),
                    ),
                )
                for end in ("", "/mcp")
            ),
            _route(WRITE, path("api/v1/files", _when(_is_post, upload, otherwise=django))),
            _route(WRITE, path("api/v1/files/<uuid:file_id>/content", uploaded)),
            _route(WRITE, path("metrics", metrics)),
            _route(WRITE, path("api/schema/", description)),
            _route(
                START,
                path("api/v1/runs", _when(_posts_and_waits, start_and_wait, otherwise=django)),
            ),
            _route(AS_DJANGO, re_path(r"", django)),
        ]
    )


def kind_of(routes: Sequence[Any], scope: Scope) -> Kind:
    """The kind of a request, by the route that answers it."""
    if scope["type"] == "websocket":
        return JOIN
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return JOIN if "text/event-stream" in headers_of(scope).get("accept", "") else READ
    if scope["method"] != "POST":
        return WRITE
    address = scope["path"].removeprefix("/")
    declared = next(
        getattr(route, POST_KIND) for route in routes if route.pattern.match(address) is not None
    )
    if declared != AS_DJANGO:
        return cast(Kind, declared)
    try:
        return kinds.kind_of(resolve(scope["path"]).func)
    except Resolver404:
        return WRITE


def _route(kind: str, route: Any) -> Any:
    """The route, with the kind of a POST to it."""
    setattr(route, POST_KIND, kind)
    return route


def _openai() -> list[Any]:
    """OpenAI's API; unsupported parts are refused in its own shape."""
    starting = {"responses", "chat/completions"}
    named = "conversations/<str:conversation>"
    resources: dict[str, dict[str, Handle]] = {
        "responses": {"POST": openai.create},
        "responses/<str:response>": {"GET": openai.retrieve, "DELETE": openai.delete},
        "responses/<str:response>/cancel": {"POST": openai.cancel},
        "responses/<str:response>/input_items": {"GET": openai.input_items},
        "conversations": {"POST": conversations.create},
        named: {
            "GET": conversations.retrieve,
            "POST": conversations.update,
            "DELETE": conversations.delete,
        },
        f"{named}/items": {"GET": conversations.items, "POST": conversations.add},
        f"{named}/items/<str:item>": {
            "GET": conversations.item,
            "DELETE": conversations.remove,
        },
        "chat/completions": {"POST": openai.complete},
        "models": {"GET": openai.models},
        "models/<str:slug>": {"GET": openai.model},
    }
    routes: list[Any] = [
        _route(
            START if address in starting else WRITE,
            path(f"v1/{address}", cast(Endpoint, openai.resource(methods))),
        )
        for address, methods in resources.items()
    ]
    return [*routes, _route(WRITE, re_path(r"^v1/", cast(Endpoint, openai.nowhere)))]


def _intelligence(django: Endpoint) -> list[Any]:
    """CopilotKit's Intelligence runtime, whose events come through a channel."""
    agent = r"^(?:api/)?agui/intelligence/agent/(?P<slug>[-\w]+)"
    return [
        _route(
            START,
            re_path(agent + r"/run/?$", _when(_is_post, intelligence_run, otherwise=django)),
        ),
        _route(
            JOIN,
            re_path(
                agent + r"/connect/?$", _when(_is_post, intelligence_connect, otherwise=django)
            ),
        ),
    ]


def _a2a() -> list[Any]:
    """A2A's API, for the team's default agent and below each agent."""
    resources: dict[str, dict[str, Handle]] = {
        "message:send": {"POST": a2a.send_message},
        "message:stream": {"POST": a2a.stream_message},
        "tasks": {"GET": a2a.tasks},
        "tasks/<str:task>:subscribe": {"GET": a2a.subscribe, "POST": a2a.subscribe},
        "tasks/<str:task>:cancel": {"POST": a2a.cancel},
        "tasks/<str:task>/pushNotificationConfigs": {
            "GET": a2a_push.listed,
            "POST": a2a_push.create,
        },
        "tasks/<str:task>/pushNotificationConfigs/<str:name>": {
            "GET": a2a_push.get,
            "DELETE": a2a_push.delete,
        },
        "tasks/<str:task>": {"GET": a2a.get},
        ".well-known/agent-card.json": {"GET": a2a.card},
    }
    posts = {"message:send": START, "message:stream": START, "tasks/<str:task>:subscribe": JOIN}
    addresses = {
        f"{root}/{address}": (methods, posts.get(address, WRITE))
        for root in ("a2a", "a2a/<slug:slug>")
        for address, methods in resources.items()
    }
    addresses[".well-known/agent-card.json"] = {"GET": a2a.card}, WRITE
    routes: list[Any] = [
        _route(kind, path(address, cast(Endpoint, a2a.resource(methods))))
        for address, (methods, kind) in addresses.items()
    ]
    calls = cast(Endpoint, a2a_rpc.resource({"POST": a2a_rpc.call}))
    routes += [_route(START, path(address, calls)) for address in ("a2a", "a2a/<slug:slug>")]
    return [*routes, _route(WRITE, re_path(r"^a2a/", cast(Endpoint, a2a.nowhere)))]


def websocket() -> Endpoint:
    """The WebSocket side."""
    run: Endpoint = run_socket
    host: Endpoint = host_socket
    tanstack: Endpoint = tanstack_socket
    intelligence: Endpoint = intelligence_socket
    unknown: Endpoint = _no_such_socket
    return URLRouter(
        [
            path("ws/", host),
            path("ws/runs/<uuid:run_id>/", run),
            re_path(r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)/ws/?$", tanstack),
            path("agui/intelligence/socket/websocket", intelligence),
            re_path(r"", unknown),
        ]
    )


def _when(choice: Choice, app: App, *, otherwise: App) -> Endpoint:
    async def negotiated(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if choice(scope) else otherwise)(scope, receive, send)

    return negotiated


def streams_its_body(scope: Scope) -> bool:
    """Whether the app reads the body piece by piece, and bounds it itself."""
    return _is_post(scope) and scope["path"] == "/api/v1/files"


def _is_post(scope: Scope) -> bool:
    return bool(scope["method"] == "POST")


def _is_get(scope: Scope) -> bool:
    return bool(scope["method"] == "GET")


def _wants_event_stream(scope: Scope) -> bool:
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return scope["method"] == "GET" and b"text/event-stream" in accept.lower()


def _posts_and_waits(scope: Scope) -> bool:
    query = scope.get("query_string", b"").split(b"&")
    return _is_post(scope) and any(part.startswith(b"wait=") for part in query)


async def _no_such_socket(scope: Scope, receive: Receive, send: Send) -> None:
    await close_socket(receive, send, NotFound())
