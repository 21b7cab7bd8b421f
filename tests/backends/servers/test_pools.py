"""A pool tries to connect every two seconds, however long its server has been away."""

import asyncio
import itertools
import logging
from collections.abc import Callable

import pytest
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres.servers.pools import LONGEST, QuickAsyncPool, QuickPool
from tests.acceptance.host import wait_for
from tests.proxy import Proxy, embedded_postgres

ATTEMPTS = 6
"""psycopg's own pool makes the last two of them 8 seconds apart."""


def of_requests(values: dict[str, str], are_enough: Callable[[], bool]) -> None:
    with QuickPool(kwargs=values, min_size=1):
        wait_for(are_enough, "attempts to connect")


def of_the_queue(values: dict[str, str], are_enough: Callable[[], bool]) -> None:
    async def attempt() -> None:
        async with QuickAsyncPool(kwargs=values, min_size=1):
            await asyncio.to_thread(wait_for, are_enough, "attempts to connect")

    asyncio.run(attempt())


@pytest.mark.django_db
@pytest.mark.parametrize("attempt", [of_requests, of_the_queue])
def test_it_does_not_wait_longer_and_longer(
    attempt: Callable[[dict[str, str], Callable[[], bool]], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def times() -> list[float]:
        return [line.created for line in caplog.records if "error connecting" in line.message]

    with Proxy(embedded_postgres()) as proxy, caplog.at_level(logging.WARNING, "psycopg.pool"):
        proxy.refusing = True
        values = connector_params() | {"host": proxy.host, "port": str(proxy.port)}
        attempt(values, lambda: len(times()) >= ATTEMPTS)
    pauses = [later - earlier for earlier, later in itertools.pairwise(times())]
    assert max(pauses) < 2 * LONGEST
