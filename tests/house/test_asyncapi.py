"""docs/asyncapi.yaml describes the sockets that are there, and how they close."""

import re

import yaml

from agui_project.errors import BadCursor, NotFound, Unauthenticated, Unavailable
from backends.epochs import Reset
from protocol.errors import HostError
from teams.limits import LimitReached
from tests.house.repository import ROOT
from web import routing
from web.websocket import Close


def address(route: str) -> str:
    """A route as the description writes it: parameters in braces, without what is optional."""
    plain = route.removeprefix("^(?:api/)?").removesuffix("/?$")
    return "/" + re.sub(r"<\w+:(\w+)>|\(\?P<(\w+)>\[-\\w\]\+\)", r"{\1\2}", plain)


def test_it_describes_every_socket() -> None:
    description = yaml.safe_load((ROOT / "docs" / "asyncapi.yaml").read_text())
    sockets = {str(route.pattern) for route in routing.websocket().routes} - {""}
    addresses = {channel["address"] for channel in description["channels"].values()}
    assert addresses == set(map(address, sockets))
    refusals = (BadCursor, HostError, LimitReached, NotFound, Reset, Unauthenticated, Unavailable)
    closes = {error.close for error in refusals}
    assert set(description["x-close-codes"]) == closes | set(Close)
