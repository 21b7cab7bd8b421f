"""The worker of a run is killed (``kill -9``) while an agent of each kind works for it.

``tests/soak/test_recovery_kinds.py`` does it fifty times for each kind.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.host import Host
from tests.acceptance.recovery.kinds.killing import check, two_hosts
from tests.needs import need_module

need_module("pydantic_ai")
need_module("langgraph.checkpoint.postgres")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with two_hosts() as first:
        yield first


@pytest.mark.parametrize("kind", ["langgraph", "http", "codex"])
def test_killed(host: Host, tmp_path: Path, kind: str) -> None:
    assert check(host, kind, 1, tmp_path), "the fault has fired"
