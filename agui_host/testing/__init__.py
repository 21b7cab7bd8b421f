"""A run is a test: plays an agent on an input or an archive, without a server (howto-test-agents).

``run`` plays an agent once, through the same intake as a worker, and returns what readers would
get. ``replay`` plays it on the input of an archive and compares the logs. As a pytest plug-in
(``pytest_plugins = ["agui_host.testing"]``) it gives tests the fixtures ``run_agent`` and
``replay_archive``. No model, database or settings are needed, unless the agent uses them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agui_host.testing.play import Played, run
from agui_host.testing.replay import Divergence, Replayed, compare, replay

__all__ = ["Divergence", "Played", "Replayed", "compare", "replay", "run"]


@pytest.fixture
def run_agent() -> Callable[..., Played]:
    """``run``: plays an agent on an input."""
    return run


@pytest.fixture
def replay_archive() -> Callable[..., Played]:
    """Replays an archive and fails at the first divergence; the run as it was played."""

    def checked(archive: str | Path, agent: Any = None, **options: Any) -> Played:
        replayed = replay(archive, agent, **options)
        if replayed.divergence is not None:
            pytest.fail(f"{archive} diverges at {replayed.divergence}")
        return replayed.played

    return checked
