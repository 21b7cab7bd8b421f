"""Hosts for the acceptance tests: one for those that leave it whole, own ones for the others."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.host import Host
from tests.conftest import own_data_dir


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A running host that tests share; they must not break it."""
    with own_data_dir() as data:
        host = Host(data)
        try:
            yield host.start()
        finally:
            host.stop()


@pytest.fixture
def new_host(data_dir: Path) -> Iterator[Callable[..., Host]]:
    """A function that starts a host of one's own, to be hurt."""
    started: list[Host] = []

    def start(**settings: str) -> Host:
        started.append(Host(data_dir, **settings))
        return started[-1].start()

    yield start
    for host in started:
        host.stop()
