"""The dearest small inputs: of each event kind, reader, route, socket and method, by search.

``SOAK_SECONDS`` (600 by default) are shared by all subjects. What the search found is printed as a
table, with ``BENCH_KEEP=1`` kept among the results of the benchmarks.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st

from agui_host.protocol.schema import EVENTS
from benchmarks.report import keep
from events.hub import hub
from tests.soak.cost import doors, events
from tests.soak.cost.search import Worst, search
from tests.tenancy.test_doors import House

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
LOOP, MEMORY = 0.05, 20_000_000
pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS * 3 + 600)]
Subject = tuple[str, st.SearchStrategy[Any], Callable[[Any], Callable[[], Awaitable[Any]]]]


def of_events() -> Iterator[Subject]:
    """Each event kind through intake, through each reader of events, and as a prelude."""
    assert set(events.TEMPLATES) == set(EVENTS), "each event kind needs a template"
    for kind in EVENTS:
        yield f"event {kind}: intake", events.several(kind), events.taken
        any_reader = st.tuples(st.sampled_from(list(events.READERS)), events.several(kind))
        yield f"event {kind}: readers", any_reader, lambda pair: events.read(*pair)
        yield f"event {kind}: prelude", events.several(kind), events.joined


def of_routes(house: House) -> Iterator[Subject]:
    """Each route with each method, each socket."""
    for route, door, method in doors.doors():
        inputs = doors.hostile_request(house, door, method)
        yield f"{method} {route}", inputs, doors.request_sender(house, route, door, method)
    for route, url in doors.sockets(house):
        yield f"WS {route}", doors.hostile_frame(), doors.frame_sender(house, url)


@contextmanager
def loop() -> Iterator[asyncio.Runner]:
    """A loop whose streams are closed at its end."""
    with asyncio.Runner() as runner:
        yield runner
        runner.run(close())


async def close() -> None:
    await hub().close()


def judged(name: str, subjects: list[Subject], seconds: float) -> None:
    """Search all, print the table, and name each subject above the bounds."""
    with loop() as runner:
        results = [
            search(subject, inputs, make, runner, seconds / len(subjects))
            for subject, inputs, make in subjects
        ]
    tried = sum(worst.tried for worst in results)
    keep(name, [f"{tried} inputs in {seconds:.0f} s", *(worst.line() for worst in results)])
    dear = [worst.line() for worst in results if is_dear(worst)]
    assert not dear, "\n".join(dear)


def is_dear(worst: Worst) -> bool:
    return worst.loop > LOOP or worst.memory > MEMORY


def test_cost_of_events() -> None:
    judged("cost-events", list(of_events()), SECONDS / 2)


@pytest.mark.django_db(transaction=True)
def test_cost_of_routes(house: House) -> None:
    judged("cost-routes", list(of_routes(house)), SECONDS / 2)
