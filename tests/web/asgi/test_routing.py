"""The kind of each route: what can start a run is a start for the gate."""

import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from django.urls import URLResolver, get_resolver

from agui_host import kinds
from agui_host.web import routing
from agui_host.web.addresses.route import CALLER
from agui_host.web.asgi import router
from agui_host.web.host_socket.methods import METHODS
from runs.access import start
from runs.lifecycle import lifecycle
from tests.tenancy.doors import ASGI

ID = "01890000-0000-7000-8000-000000000000"
STARTING = {
    inspect.unwrap(function)
    for function in (start.start_run, start.answer, lifecycle.start, lifecycle.start_at_once)
}
ROOMS = (
    "agui_project.", "agui_host.dashboard.", "agui_host.dialects.", "runs.", "agui_host.teams.",
    "agui_host.web.",
)  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/", "start"),
        ("POST", "/agui", "start"),
        ("POST", "//agui", "start"),
        ("POST", "/api/agui/agent/demo/run/", "start"),
        ("POST", "/agui/agent/demo/connect", "join"),
        ("POST", "/api/v1/runs", "start"),
        ("POST", "/api/v1/runs/1/cancel", "write"),
        ("POST", "/agui/agent/demo/stop/t/", "write"),
        ("POST", "/api/chat/demo/t/stop", "write"),
        ("POST", "/v1/responses/r/cancel", "write"),
        ("POST", "/a2a/demo/tasks/t:cancel", "write"),
        ("POST", "/v1/responses", "start"),
        ("POST", "/a2a/demo/message:send", "start"),
        ("POST", "/mcp", "start"),
        ("POST", "/login/", "write"),
        ("POST", "/nowhere/", "write"),
        ("POST", "/agents/run", "start"),
        ("POST", "/agents/answer", "start"),
        ("POST", f"/api/v1/interrupts/{ID}/answer", "start"),
        ("POST", f"/api/v1/schedules/{ID}/run", "start"),
        ("POST", f"/api/v1/runs/{ID}/cancel", "write"),
        ("POST", f"/runs/{ID}/again", "start"),
        ("POST", f"/runs/{ID}/continue", "start"),
        ("POST", f"/runs/{ID}/change", "start"),
        ("POST", f"/runs/{ID}/cancel", "write"),
        ("POST", f"/inbox/{ID}/answer", "start"),
        ("POST", f"/team/schedules/{ID}/run", "start"),
        ("POST", "/v1/conversations", "write"),
        ("POST", "/a2a/tasks/t:subscribe", "join"),
        ("DELETE", "/v1/responses/r", "write"),
        ("GET", "/agui", "read"),
    ],
)
def test_which_requests_are_starts(method: str, path: str, kind: str) -> None:
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    assert routing.kind_of(router, scope) == kind


def names_of(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(names_of, inner))


def used_by(function: FunctionType) -> Iterator[Any]:
    """What a function names or encloses; of the apps of one address, the one for POST."""
    names = names_of(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            yield from (getattr(value, each, None) for each in names)
        else:
            yield value
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        yield value.get("POST") if isinstance(value, dict) else value


def can_start(view: Any) -> bool:
    """Whether a start of a run is reached from here, through functions of ours."""
    visited: set[Any] = set()
    waiting = [view]
    while waiting:
        value = waiting.pop()
        if isinstance(value, partial):
            value = value.func
        if not isinstance(value, FunctionType):
            continue
        value = inspect.unwrap(value)
        if value in STARTING:
            return True
        if value not in visited and value.__module__.startswith(ROOMS):
            visited.add(value)
            waiting += used_by(value)
    return False


def views(resolver: URLResolver) -> Iterator[tuple[str, Any]]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern)
        else:
            yield str(pattern.pattern), pattern.callback


def test_each_view_that_can_start_a_run_declares_it() -> None:
    wrong, starting = [], 0
    for route, view in views(get_resolver()):
        of_class = getattr(view, "view_class", None)
        reaches = can_start(getattr(of_class, "post", None) if of_class else view)
        starting += reaches
        if reaches != (kinds.kind_of(view) == kinds.START):
            wrong.append(route)
    assert wrong == [], "declare the view with @starts (agui_host/kinds.py), or do not"
    assert starting >= 10


def test_each_other_route_that_can_start_a_run_declares_it() -> None:
    starting = {route.address for route in routing.routes() if can_start(route.app)}
    declared = {route.address for route in routing.routes() if route.post == kinds.START}
    assert starting == declared, "``post=START`` in the routes of the address"
    assert len(starting) >= 8


def test_each_request_of_the_socket_that_can_start_a_run_declares_it() -> None:
    starting = {name for name, method in METHODS.items() if can_start(method.handle)}
    assert starting == {name for name, method in METHODS.items() if method.kind == kinds.START}
    assert "interrupt.answer" in starting


def test_each_route_declares_who_is_answered() -> None:
    """A request without credentials gets 401 where the route expects a caller."""
    for route in routing.routes():
        codes = {method: code.nobody for method, code in ASGI[route.address].answers.items()}
        expected = {"GET", "POST", "DELETE"} & codes.keys()
        assert (route.callers == CALLER) == all(codes[each] == 401 for each in expected), codes
