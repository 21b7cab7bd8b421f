"""Whom a request counts for, at the gate and for the threads of the database."""

from collections.abc import Callable
from concurrent.futures import Future

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.backends.postgres.lanes import Lanes
from events.writer import JournalWriter
from tests.asgi import ask
from tests.cast import Cast, perform, start


@pytest.mark.django_db(transaction=True)
async def test_a_request_counts_for_its_credentials_team(
    cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first call for its address, since its credential is not known yet."""
    callers: list[str] = []
    submit = Lanes.submit

    def watched(self: Lanes, lane: str, fn: Callable[[], object]) -> "Future[object]":
        callers.append(lane)
        return submit(self, lane, fn)

    run = await db(start, cast.alice)
    await perform(run, writer)
    monkeypatch.setattr(Lanes, "submit", watched)
    headers = {**cast.alice.headers, "accept": "text/event-stream"}
    answer = await ask("GET", f"/api/v1/runs/{run.pk}/events", headers)
    assert answer.status == 200
    assert callers[0].startswith("address:")
    assert set(callers[1:]) <= {f"team:{cast.team.pk}"}
