"""docs/asyncapi.yaml describes the sockets that are there, and how they close."""

import re
from typing import Any

import yaml

from agui_host.backends.epochs import Reset
from agui_host.errors import BadCursor, NotFound, Unauthenticated, Unavailable
from agui_host.protocol.errors import HostError
from agui_host.teams.limits import LimitReached
from agui_host.web import routing
from agui_host.web.websocket import Close
from tests.house.repository import ROOT


def address(route: str) -> str:
    """A route as the description writes it: parameters in braces, without what is optional."""
    plain = route.removeprefix("^(?:api/)?").removesuffix("/?$")
    return "/" + re.sub(r"<\w+:(\w+)>|\(\?P<(\w+)>\[-\\w\]\+\)", r"{\1\2}", plain)


def test_each_name_is_a_text() -> None:
    """YAML allows others, JSON and the parsers of AsyncAPI do not."""
    waiting: list[Any] = [yaml.safe_load((ROOT / "docs" / "asyncapi.yaml").read_text())]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            assert all(isinstance(name, str) for name in value), value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def test_it_describes_every_socket() -> None:
    description = yaml.safe_load((ROOT / "docs" / "asyncapi.yaml").read_text())
    sockets = {str(route.pattern) for route in routing.websocket().routes} - {""}
    addresses = {channel["address"] for channel in description["channels"].values()}
    assert addresses == set(map(address, sockets))
    refusals = (BadCursor, HostError, LimitReached, NotFound, Reset, Unauthenticated, Unavailable)
    closes = {error.close for error in refusals}
    assert set(map(int, description["x-close-codes"])) == closes | set(Close)
