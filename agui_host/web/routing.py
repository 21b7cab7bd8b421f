"""Chooses the app that answers, by method, path and Accept; nothing else does so.

The routes are those below and those of the dialects; Django answers all other requests. A route
declares the kind of its POST for the gate; Django's views declare theirs (``agui_host/kinds.py``).
"""

from django.urls import Resolver404, resolve

from agui_host import dialects, kinds
from agui_host.dialects.tanstack.endpoints import form_of
from agui_host.errors import NotFound
from agui_host.kinds import JOIN, READ, START, WRITE, Kind
from agui_host.web.addresses.route import (
    AGENT,
    ANYONE,
    LINK,
    OPERATOR,
    PIECES,
    Route,
    is_get,
    is_post,
    wants_event_stream,
)
from agui_host.web.addresses.router import Router
from agui_host.web.asgi_http import close_socket
from agui_host.web.consumers.agui import agui
from agui_host.web.consumers.connect import connect
from agui_host.web.consumers.events import events
from agui_host.web.consumers.export.exports import export
from agui_host.web.consumers.files.content import content
from agui_host.web.consumers.files.upload import upload
from agui_host.web.consumers.metrics import metrics_page
from agui_host.web.consumers.saying import say
from agui_host.web.consumers.shared import shared_events
from agui_host.web.consumers.socket import run_socket
from agui_host.web.consumers.wait import start_and_wait
from agui_host.web.host_socket.socket import host_socket
from agui_host.web.middleware.answer_cache import AnswerCache
from agui_host.web.scope import App, Receive, Scope, Send, headers_of


def _posts_and_waits(scope: Scope) -> bool:
    query = scope.get("query_string", b"").split(b"&")
    return is_post(scope) and any(part.startswith(b"wait=") for part in query)


agui_stream = agui(form_of)
RUN = "api/v1/runs/<uuid:run_id>"
HOST = (
    Route(address="^(?:api/)?agui/?$", app=agui_stream, post=START, when=is_post),
    Route(address=AGENT + "/run/?$", app=agui_stream, post=START, when=is_post),
    # A reloaded front end reads its thread by POST.
    Route(address=AGENT + "/connect/?$", app=connect, post=JOIN, when=is_post),
    Route(address="^$", app=agui_stream, post=START, when=is_post),
    Route(address=f"{RUN}/events", app=events, when=wants_event_stream),
    Route(address=f"{RUN}/export", app=export),
    Route(address=f"{RUN}/messages", app=say, when=is_post),
    Route(
        address="shared/<str:token>/runs/<uuid:run_id>/events",
        app=shared_events,
        when=is_get,
        callers=LINK,
    ),
    Route(address="api/v1/files", app=upload, when=is_post, body=PIECES),
    Route(address="api/v1/files/<uuid:file_id>/content", app=content),
    Route(address="metrics", app=metrics_page, callers=OPERATOR),
    Route(address="api/v1/runs", app=start_and_wait, post=START, when=_posts_and_waits),
)
SOCKETS = (
    Route(address="ws/", app=host_socket),
    Route(address="ws/runs/<uuid:run_id>/", app=run_socket),
)


def routes() -> tuple[Route, ...]:
    """All routes, those of the dialects last."""
    return (*HOST, *(route for format in dialects.formats() for route in format.routes))


def sockets() -> tuple[Route, ...]:
    """All addresses of WebSockets."""
    return (*SOCKETS, *(socket for format in dialects.formats() for socket in format.sockets))


def http(django: App) -> Router:
    """The HTTP side: streams go to consumers, everything else to Django."""
    description = Route(address="api/schema/", app=AnswerCache(django), callers=ANYONE)
    return Router((*routes(), description), otherwise=django)


def websocket() -> Router:
    """The WebSocket side."""
    return Router(sockets(), otherwise=_no_such_socket)


def kind_of(router: Router, scope: Scope) -> Kind:
    """The kind of a request, by the route that answers it."""
    if scope["type"] == "websocket":
        return JOIN
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return JOIN if "text/event-stream" in headers_of(scope).get("accept", "") else READ
    if scope["method"] != "POST":
        return WRITE
    if (route := router.route_of(scope)) is not None:
        return route.post
    try:
        return kinds.kind_of(resolve(scope["path"]).func)
    except Resolver404:
        return WRITE


def in_pieces(router: Router, scope: Scope) -> bool:
    """Whether the app of a request reads its body piece by piece, and bounds it itself."""
    route = router.route_of(scope)
    return route is not None and route.body == PIECES


async def _no_such_socket(scope: Scope, receive: Receive, send: Send) -> None:
    await close_socket(receive, send, NotFound())
