"""A round's history is judged: what is lost, doubled, moved or altered on the way is reported."""

import copy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.histories import judged

RUN = {"id": "r", "thread_id": "t", "status": "succeeded", "events": 4, "repeats": None}
LOG: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {}},
    {"type": "CUSTOM", "name": "a", "value": 1},
    {"type": "CUSTOM", "name": "b", "value": 2},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]


def faithful() -> Any:
    return SimpleNamespace(transport="sse", seqs=[1, 2, 3, 4], events=copy.deepcopy(LOG))


def lose(reader: Any) -> None:
    del reader.seqs[2], reader.events[2]


def double(reader: Any) -> None:
    reader.seqs.insert(2, 2)
    reader.events.insert(2, LOG[1])


def move(reader: Any) -> None:
    reader.events[1:3] = reader.events[2:0:-1]


def alter(reader: Any) -> None:
    reader.events[1]["value"] = 3


def test_nothing_is_wrong_with_a_faithful_reader(tmp_path: Path) -> None:
    assert judged.violations(tmp_path / "h", [RUN], [[faithful()]], [LOG]) == []


@pytest.mark.parametrize("change", [lose, double, move, alter])
def test_a_reader_that_received_something_else(
    tmp_path: Path, change: Callable[[Any], None]
) -> None:
    reader = faithful()
    change(reader)
    assert judged.violations(tmp_path / "h", [RUN], [[faithful(), reader]], [LOG])


def test_a_log_with_two_ends(tmp_path: Path) -> None:
    reader = faithful()
    log = [*LOG, LOG[-1]]
    reader.seqs, reader.events = [1, 2, 3, 4, 5], log
    assert judged.violations(tmp_path / "h", [RUN | {"events": 5}], [[reader]], [log])
