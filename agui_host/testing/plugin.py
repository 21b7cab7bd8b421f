"""The fixtures of the pytest plug-in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agui_host.testing.play import Played, run
from agui_host.testing.replay import replay


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
