"""The link view of a log: one fold for all readers, and the same bytes for each."""

import json
from typing import Any
from uuid import uuid4

import pytest

from agui_host.backends.held import Held
from agui_host.protocol.views.link import LinkView
from agui_host.web.consumers import link_logs
from agui_host.web.consumers.link_logs import LinkLogs
from events.frames import Frames

EVENTS: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "STATE_SNAPSHOT", "snapshot": {"password": "x", "n": 0}},
    {"type": "RAW", "event": 1},
    *(
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": f"/{name}", "value": n}]}
        for n, name in enumerate(["n", "password", "n", "n"])
    ),
    {"type": "RAW", "event": 2},
]
ALL = len(EVENTS)
TEAM = uuid4()


def batch(first: int, last: int) -> Frames:
    payloads = [json.dumps(event, separators=(",", ":")).encode() for event in EVENTS]
    return Frames(first, last, payloads[first - 1 : last], final=last == ALL)


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of the events that a view was types."""
    types: list[str] = []
    show = LinkView.show

    def counting(self: LinkView, event: Any) -> Any:
        types.append(event["type"])
        return show(self, event)

    monkeypatch.setattr(LinkView, "show", counting)
    return types


def test_twenty_readers_fold_a_log_once(folds: list[str]) -> None:
    logs, run = LinkLogs(), uuid4()
    texts = {logs.reader(run, ["password"], 0, team=TEAM)(batch(1, ALL)) for _ in range(20)}
    assert len(folds) == ALL
    (text,) = texts
    assert b'"password":"[redacted]"' in text
    assert b'"value":1' not in text
    assert b"RAW" not in text
    assert text.endswith(b": %d\n" % ALL)


def test_a_reader_in_other_pieces_and_from_a_cursor_gets_the_same(folds: list[str]) -> None:
    logs, run = LinkLogs(), uuid4()
    slow, fast = (logs.reader(run, ["password"], 0, team=TEAM) for _ in range(2))
    begun = slow(batch(1, 3))
    whole = fast(batch(1, ALL))
    assert begun.removesuffix(b": 3\n") + slow(batch(4, ALL)) == whole
    later = logs.reader(run, ["password"], 5, team=TEAM)(batch(1, ALL))
    assert whole.endswith(later)
    assert later.startswith(b"id: 6\n")
    assert len(folds) == ALL


def test_each_redaction_has_its_own(folds: list[str]) -> None:
    logs, run = LinkLogs(), uuid4()
    assert b"[redacted]" in logs.reader(run, ["password"], 0, team=TEAM)(batch(1, ALL))
    assert b"[redacted]" not in logs.reader(run, [], 0, team=TEAM)(batch(1, ALL))


def test_what_is_not_kept_each_reader_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    run = uuid4()
    whole = LinkLogs().reader(run, ["password"], 0, team=TEAM)(batch(1, ALL))
    monkeypatch.setattr(link_logs, "LOG_BYTES", 300)
    logs = LinkLogs()
    readers = [logs.reader(run, ["password"], 0, team=TEAM) for _ in range(3)]
    parts = [
        [reader(batch(1, 4)) for reader in readers],
        [reader(batch(5, 8)) for reader in readers],
    ]
    assert [one + two for one, two in zip(*parts, strict=True)] == [whole] * 3
    assert len(readers[0].log.pieces) < ALL


def test_few_logs_are_kept() -> None:
    logs = LinkLogs()
    run = uuid4()
    first = logs.reader(run, [], 0, team=TEAM).log
    assert logs.reader(run, [], 0, team=TEAM).log is first
    for _ in range(link_logs.LOGS):
        logs.reader(uuid4(), [], 0, team=TEAM)
    assert logs.reader(run, [], 0, team=TEAM).log is not first


def test_what_is_kept_is_bounded_for_a_team(
    monkeypatch: pytest.MonkeyPatch, folds: list[str]
) -> None:
    """Also while it is read; without room each reader folds on its own, and sees the same."""
    monkeypatch.setattr(link_logs, "ledger", Held(process=5_000, team=600))
    logs, run = LinkLogs(), uuid4()
    whole = logs.reader(run, ["password"], 0, team=uuid4())(batch(1, ALL))
    reader = logs.reader(uuid4(), ["password"], 0, team=TEAM)
    assert reader(batch(1, ALL)) == whole
    other = logs.reader(uuid4(), ["password"], 0, team=TEAM)
    assert other(batch(1, 4)) + other(batch(5, ALL)) == whole
    assert len(other.log.pieces) < ALL
    assert link_logs.ledger.fits(uuid4(), 2_000)
    del reader, other, logs
    assert link_logs.ledger.bytes == 0
