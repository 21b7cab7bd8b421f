"""A database that is away for a moment stops no worker."""

import pytest
from procrastinate.contrib.django import app
from procrastinate.exceptions import ConnectorException
from procrastinate.periodic import PeriodicDeferrer

from runs import patience
from runs.patience import PatientWorker


async def test_what_is_due_meanwhile_is_deferred_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpatiently, the worker stopped when a restart of Postgres met the full minute."""
    tries = []

    async def worker(self: PeriodicDeferrer) -> None:
        tries.append(len(self.registry.periodic_tasks))
        if len(tries) < 3:
            raise ConnectorException

    monkeypatch.setattr(PeriodicDeferrer, "worker", worker)
    monkeypatch.setattr(patience, "PAUSE", 0)
    await PatientWorker(app, queues=["runs"])._periodic_deferrer()
    assert len(tries) == 3
    assert tries[0] > 0
