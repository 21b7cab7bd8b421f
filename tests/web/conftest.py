"""The cast, and a worker's writer; no test leaves bytes in a ledger."""

from collections.abc import Iterator

import pytest

from agui_host.web.consumers.export import exports
from agui_host.web.shares import openings, parsing
from tests.cast import bell, cast, register, writer
from tests.runs.playing import play

__all__ = ["bell", "cast", "play", "register", "writer"]
LEDGERS = {each.__name__: each.ledger for each in (exports, openings, parsing)}
"""Of what is under way. Logs of links stay for minutes after their readers, in their own ledger."""


@pytest.fixture(autouse=True)
def all_is_given_back() -> Iterator[None]:
    """Or later tests of the process would be refused, as requests of a real one."""
    before = _bytes_held()
    yield
    assert _bytes_held() == before


def _bytes_held() -> dict[str, int]:
    return {name: ledger.bytes for name, ledger in LEDGERS.items()}
