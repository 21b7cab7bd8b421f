"""The client that tests speak to the shared host with."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import Answers, answering, ready_packages

Play = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def packages() -> None:
    """Asked for before ``host``: without Node no host need be started."""
    ready_packages()


@pytest.fixture(scope="session")
def stock(packages: None) -> Iterator[Answers]:
    """Stock HttpAgents, each scenario by one of its own (see ``js/run.mjs``)."""
    with answering("run.mjs") as stock:
        yield stock


@pytest.fixture
def play(stock: Answers, host: Host) -> Play:
    """``play(*runs, path="/agui", **scenario)``: a stock HttpAgent against the host."""

    def play(*runs: dict[str, Any], path: str = "/agui", **scenario: Any) -> dict[str, Any]:
        headers = host.headers
        return stock({"url": host.url + path, "headers": headers, "runs": list(runs), **scenario})

    return play


def user(text: str, id: str = "u1") -> dict[str, Any]:
    """A message of the user."""
    return {"id": id, "role": "user", "content": text}


def types(run: dict[str, Any], *names: str) -> list[str]:
    """The event types of a recorded run, in order; only ``names``, if given."""
    return [kind for kind in run["types"] if not names or kind in names]


def call(script: list[dict[str, Any]], text: str = "go") -> dict[str, Any]:
    """One run of the ``scripted`` agent."""
    return {"messages": [user(text)], "forwardedProps": {"script": script}}


def arguments(message: dict[str, Any]) -> Any:
    """The arguments of a message's only tool call."""
    (tool_call,) = message["toolCalls"]
    return json.loads(tool_call["function"]["arguments"])
