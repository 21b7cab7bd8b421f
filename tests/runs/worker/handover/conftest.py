"""Fixtures of the tests of a thread's next turn."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from runs.models import TeamUsage
from runs.worker.taking import loop
from tests.cast import Cast, Register
from tests.runs.worker.test_taking import NEVER


@pytest.fixture
def only_notifications(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run waits for a poll. The first start of a team ever is not handed over."""
    TeamUsage.objects.create(team=cast.team)
    monkeypatch.setattr(loop, "POLL", NEVER)


@pytest.fixture
def hears(register: Register) -> list[list[str]]:
    """The ids of the messages that each run of the agent ``listens`` was given."""
    heard: list[list[str]] = []

    async def listens(ctx: Any) -> AsyncIterator[str]:
        heard.append([message["id"] for message in ctx.messages])
        yield "yes"

    register("listens", listens, on_busy="enqueue")
    return heard


@pytest.fixture
def searching(only_notifications: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look soon for what was not handed to them; a notification can be for another one."""
    monkeypatch.setattr(loop, "LOOK", 0.1)
    monkeypatch.setattr(loop, "POLL", 0.1)
