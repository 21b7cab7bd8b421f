"""The host of these tests."""

from collections.abc import Iterator

import pytest

from tests.acceptance.reports.talk import OPEN, PLACE
from tests.conftest import own_host


@pytest.fixture(scope="package", autouse=True)
def place() -> Iterator[None]:
    """One host for all, with their agents."""
    settings = {
        "AGUI_AGENT_MODULES": "tests.acceptance.reports.case_agents",
        "AGUI_OUTBOUND_ALLOW": "localhost,127.0.0.1",
        "AGUI_ALLOWED_ORIGINS": "http://app.example",
        "AGUI_WEBHOOK_RETRIES": "2s,3s,4s",
    }
    with own_host(**settings) as host:
        PLACE.url, PLACE.key, PLACE.password = host.url, host.key, host.password
        yield


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    """A test's connections end with it."""
    yield
    while OPEN:
        OPEN.pop().close()
