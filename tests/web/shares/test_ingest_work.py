"""Batches are charged to the team, refused ones as well, and refused above its share."""

import pytest

from backends import work
from protocol.intake import fed
from tests.cast import Cast
from tests.web.test_ingest import START, Producer, external, producer

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["external", "producer"]


async def test_a_team_above_its_share_is_refused_before_its_batch_is_read(
    cast: Cast, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged: list[str] = []
    monkeypatch.setattr(work, "charge", lambda team, kind, amount: charged.append(kind))
    monkeypatch.setattr(work, "debt", lambda team: 3.0)
    answer = await producer.feed(0, START)
    assert (answer.status, answer.code) == (429, "limit_reached")
    assert answer.headers["retry-after"] == "3"
    assert "fold" not in charged


async def test_a_refused_batch_is_charged_as_well(
    cast: Cast, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds: list[int] = []

    def charge(team: object, kind: str, amount: int) -> None:
        if kind == "fold":
            folds.append(amount)

    monkeypatch.setattr(work, "charge", charge)
    monkeypatch.setattr(fed, "MAX_WORK", 50_000)
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * 40_000, "b": 0}}
    copy = {"type": "STATE_DELTA", "delta": [{"op": "copy", "from": "/a", "path": "/b"}]}
    answer = await producer.feed(0, snapshot, copy, copy)
    assert (answer.status, answer.code) == (422, "event_refused")
    assert len(folds) == 1
    assert folds[0] >= 50_000
