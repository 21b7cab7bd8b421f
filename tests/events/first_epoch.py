"""For tests of a database whose history goes back: each begins in the first epoch."""

from collections.abc import Iterator

import pytest
from django.db import connection

from agui_host.backends import epochs
from agui_host.backends.postgres.reserved import ReservedWrapper
from events.models import Epoch


@pytest.fixture
def first_epoch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No session knows of a later one, before the test and after it."""
    # The sessions of other threads stay: what they write here is of the first epoch.
    monkeypatch.setattr(epochs, "END_OTHERS", "select 1")
    monkeypatch.setattr(epochs, "latest", epochs.FIRST)
    yield
    connection.close()
    Epoch.objects.all().delete()
    connection.close()
    ReservedWrapper.close_pools()  # Some of their sessions have read the epoch that is gone.
