"""Finds the route of a request once: the gate, the body's bound, the counts and the app agree."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from django.urls import URLPattern, path, re_path

from agui_host.web.addresses.route import Route
from agui_host.web.scope import App, Receive, Scope, Send

MATCH = "agui.match"
"""Where a scope keeps its ``Match`` once it was looked for."""


class Match(NamedTuple):
    """The first pattern that fits an address, its arguments, and its routes.

    The pattern is empty if there is no such route.
    """

    pattern: str
    arguments: Mapping[str, Any]
    choices: Sequence[Route]


class Router:
    """The ASGI app of some routes; ``otherwise`` answers the requests of none of them."""

    def __init__(self, routes: Iterable[Route], otherwise: App) -> None:
        self._otherwise = otherwise
        self._choices: dict[str, list[Route]] = {}
        for route in routes:
            self._choices.setdefault(route.address, []).append(route)
        self.routes = [_pattern(address) for address in (*self._choices, "")]

    def match(self, scope: Scope) -> Match:
        """The match of a request's address."""
        if (known := scope.get(MATCH)) is not None:
            return cast("Match", known)
        # Below a prefix; any number of slashes can be in front, as for Channels' routers.
        address = scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        match = next(
            Match(name := str(each.pattern), matched[2], self._choices.get(name, ()))
            for each in self.routes
            if (matched := each.pattern.match(address)) is not None
        )
        scope[MATCH] = match
        return match

    def route_of(self, scope: Scope) -> Route | None:
        """The route that answers a request; None if ``otherwise`` does."""
        return next((route for route in self.match(scope).choices if route.when(scope)), None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.route_of(scope)
        arguments = {"args": (), "kwargs": self.match(scope).arguments}
        app = route.app if route else self._otherwise
        await app({**scope, "url_route": arguments}, receive, send)


def _pattern(address: str) -> URLPattern:
    make: Any = path if address and not address.startswith("^") else re_path
    return cast("URLPattern", make(address, _no_view))


def _no_view(*_: Any) -> None:
    """Django's patterns want a view."""
