"""Webhooks of the cast may call this machine, and tries follow each other at once."""

import pytest
from pytest_django import Settings

from runs.worker import deliveries
from tests.cast import bell, cast, register, writer

__all__ = ["bell", "cast", "register", "writer"]


@pytest.fixture(autouse=True)
def quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "POLL", 0.05)
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    settings.AGUI_WEBHOOK_RETRIES = [0.01] * 40
    settings.AGUI_WEBHOOK_TIMEOUT = 5.0
