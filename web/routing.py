"""Chooses the app that answers, by method, path and Accept; nothing else does so."""

from collections.abc import Callable
from typing import Any, cast

from channels.routing import URLRouter
from django.urls import path, re_path

from agui_project.errors import NotFound
from web.asgi_http import close_socket
from web.consumers.agui import agui
from web.consumers.alpine import alpine
from web.consumers.connect import connect
from web.consumers.dialects import ai_sdk, openai
from web.consumers.durable_streams import durable_stream
from web.consumers.events import events
from web.consumers.metrics import metrics_page
from web.consumers.shared import shared_events
from web.consumers.socket import run_socket
from web.consumers.tanstack_socket import tanstack_socket
from web.consumers.wait import start_and_wait
from web.host_socket.socket import host_socket
from web.scope import App, Receive, Scope, Send

Choice = Callable[[Scope], bool]


# Django's ``path`` is typed for views; Channels' router takes ASGI apps in their place.
Endpoint = Any


def http(django: Endpoint) -> Endpoint:
    """The HTTP side: streams go to consumers, everything else to Django."""
    post = _when(_is_post, agui, otherwise=django)
    stream: Endpoint = durable_stream
    metrics: Endpoint = metrics_page
    return URLRouter(
        [
            re_path(r"^(?:api/)?agui/?$", post),
            re_path(r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)/run/?$", post),
            re_path(
                r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)/connect/?$",
                _when(_is_post, connect, otherwise=django),
            ),
            re_path(r"^$", post),
            path(
                "api/v1/runs/<uuid:run_id>/events",
                _when(_wants_event_stream, events, otherwise=django),
            ),
            path("api/v1/runs/<uuid:run_id>/stream", stream),
            path(
                "runs/<uuid:run_id>/events",
                _when(_wants_event_stream, alpine, otherwise=django),
            ),
            path(
                "shared/<str:token>/runs/<uuid:run_id>/events",
                _when(_is_get, shared_events, otherwise=django),
            ),
            re_path(
                r"^api/chat/(?P<slug>[-\w]+)/?$", _when(_is_post, ai_sdk.chat, otherwise=django)
            ),
            re_path(
                r"^api/chat/(?P<slug>[-\w]+)/(?P<chat>.+)/stream/?$",
                _when(_is_get, ai_sdk.chat_stream, otherwise=django),
            ),
            *_openai(),
            path("metrics", metrics),
            path("api/v1/runs", _when(_posts_and_waits, start_and_wait, otherwise=django)),
            re_path(r"", django),
        ]
    )


def _openai() -> list[Any]:
    """OpenAI's API; what it lacks here is refused in its own shape."""
    resources: dict[str, dict[str, openai.Handle]] = {
        "responses": {"POST": openai.create},
        "responses/<str:response>": {"GET": openai.retrieve, "DELETE": openai.delete},
        "responses/<str:response>/cancel": {"POST": openai.cancel},
        "responses/<str:response>/input_items": {"GET": openai.input_items},
        "conversations": {"POST": openai.new_conversation},
        "conversations/<str:conversation>": {"GET": openai.conversation},
        "chat/completions": {"POST": openai.complete},
        "models": {"GET": openai.models},
        "models/<str:slug>": {"GET": openai.model},
    }
    routes: list[Any] = [
        path(f"v1/{address}", cast(Endpoint, openai.resource(methods)))
        for address, methods in resources.items()
    ]
    return [*routes, re_path(r"^v1/", cast(Endpoint, openai.nowhere))]


def websocket() -> Endpoint:
    """The WebSocket side."""
    run: Endpoint = run_socket
    host: Endpoint = host_socket
    tanstack: Endpoint = tanstack_socket
    unknown: Endpoint = _no_such_socket
    return URLRouter(
        [
            path("ws/", host),
            path("ws/runs/<uuid:run_id>/", run),
            re_path(r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)/ws/?$", tanstack),
            re_path(r"", unknown),
        ]
    )


def _when(choice: Choice, app: App, *, otherwise: App) -> Endpoint:
    async def negotiated(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if choice(scope) else otherwise)(scope, receive, send)

    return negotiated


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
