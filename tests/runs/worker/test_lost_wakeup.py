"""A job that is announced during a fetch starts at once; with Procrastinate's own worker it waits.

When the second test fails, Procrastinate has mended it: ``Wakeups`` can go, and its page in
docs/upstream with it.
"""

import runpy
from typing import Any

import pytest

from runs.worker.resilience import Wakeups
from tests.house.repository import ROOT


@pytest.fixture
def reproduction() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "upstream" / "lost_wakeup.py"))


async def test_our_worker_hears_of_it(reproduction: dict[str, Any]) -> None:
    class Awake(reproduction["Worker"]):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._new_job_event = Wakeups()

    assert await reproduction["main"](Awake, within=30)


async def test_procrastinate_still_forgets_it(reproduction: dict[str, Any]) -> None:
    assert not await reproduction["main"]()
