"""Batches are charged to the team, refused ones as well, and refused above its share."""

from collections.abc import Iterable

import pytest

from agui_host.backends import epochs, work
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.intake import fed
from runs.lifecycle.ingest import intakes
from tests.cast import Cast, log_of
from tests.dialects.durable_streams.test_ingest import (
    END,
    FINISHED,
    START,
    Producer,
    delta,
    external,
    producer,
)

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


async def test_a_refused_batch_lets_no_log_be_read_again(
    cast: Cast, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a refusal costs is the batch's, however long the log, and the run continues."""
    await producer.feed(0, {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}}, START)
    await producer.feed(1, *(delta(f"{number} ") for number in range(500)))
    folded: list[str] = []
    replay = fed.FedIntake.replay

    def counted(intake: fed.FedIntake, payloads: Iterable[str]) -> None:
        page = list(payloads)
        folded.extend(page)
        replay(intake, page)

    monkeypatch.setattr(fed.FedIntake, "replay", counted)
    change = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/-", "value": 2}]}
    for _ in range(5):
        answer = await producer.feed(2, delta("lost"), END, change, {"type": "TEXT_MESSAGE_END"})
        assert (answer.status, answer.code) == (422, "event_refused")
    assert (await producer.feed(2, change, delta("end"), END)).status == 200
    assert folded == []
    intakes._recent.pop((producer.run.pk, epochs.latest))
    assert (await producer.feed(3, change, FINISHED)).status == 200
    assert len(folded) > 500, "the counter counts"
    log = await db(log_of, producer.run)
    assert [event["type"] for event in log].count("STATE_DELTA") == 2
    assert [event["delta"] for event in log if event["type"] == delta("")["type"]][-1] == "end"
