from uuid import UUID

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record
from agui_host.protocol.fold.fold import Fold
from events import checkpoints, journal
from events.checkpoints import Checkpointer, fold_at, save
from events.models import Checkpoint
from tests.events.records import deltas, record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "EVERY_EVENTS", 50)
    monkeypatch.setattr(checkpoints, "PAGE_ROWS", 20)


def log(count: int) -> list[Record]:
    """The beginning of a run that streams one message."""
    ids = {"threadId": "t", "runId": "r"}
    start = record("TEXT_MESSAGE_START", messageId="m", role="assistant")
    return [record("RUN_STARTED", **ids), start, *deltas(count - 2)]


def stored(records: list[Record]) -> UUID:
    row = journal.create()
    assert journal.append([journal.Batch(row.pk, 0, 1, records)])
    return row.pk


def content(fold: Fold) -> str:
    return str(fold.messages[0]["content"])


def text_upto(upto: int) -> str:
    """The text of the message after that many deltas."""
    return "".join(f"d{number}" for number in range(1, upto + 1))


def seqs() -> list[int]:
    return list(Checkpoint.objects.order_by("seq").values_list("seq", flat=True))


class TestFoldAt:
    def test_any_position_with_and_without_checkpoints(self) -> None:
        journal_id = stored(log(130))
        for position in (1, 49, 130, 50, 75, 129, 999):
            fold = fold_at(journal_id, position)
            if position > 1:
                assert content(fold) == text_upto(min(position, 130) - 2)
        assert seqs() == [50, 129, 130]

    def test_only_what_is_behind_the_checkpoint_is_read(self) -> None:
        journal_id = stored(log(100))
        other = Fold()
        other.feed({"type": "RUN_STARTED", "threadId": "t", "runId": "from the checkpoint"})
        save(journal_id, 90, other)
        started = fold_at(journal_id, 100).started
        assert started is not None
        assert started["runId"] == "from the checkpoint"
        started = fold_at(journal_id, 89).started
        assert started is not None
        assert started["runId"] == "r"

    def test_an_unknown_format_is_passed_over(self) -> None:
        journal_id = stored(log(10))
        Checkpoint.objects.create(journal_id=journal_id, seq=9, fold='{"format":0}\n{}')
        assert content(fold_at(journal_id, 10)) == text_upto(8)

    def test_the_first_checkpoint_of_a_position_stays(self) -> None:
        journal_id = stored(log(5))
        save(journal_id, 5, fold_at(journal_id, 5))
        save(journal_id, 5, Fold())
        assert content(fold_at(journal_id, 5)) == text_upto(3)

    def test_together_they_never_take_more_room_than_the_log(self) -> None:
        records = log(1000)
        long = record("TEXT_MESSAGE_CONTENT", messageId="m", delta="x" * 40_000)
        journal_id = stored([*records[:2], long, *records[2:]])
        for position in range(50, 1000, 50):
            fold_at(journal_id, position)
        sizes = Checkpoint.objects.values_list("fold", flat=True)
        assert 1 < len(seqs()) < 5
        assert sum(map(len, sizes)) <= sum(len(one.payload) for one in records) + 40_100


def counted(records: list[Record]) -> tuple[int, int]:
    return len(records), sum(len(each.payload) for each in records)


class TestCheckpointer:
    async def test_stores_beside_a_growing_log(self) -> None:
        records = log(120)
        journal_id = await db(stored, records)
        checkpointer = Checkpointer(journal_id)
        checkpointer.note(*counted(records[:40]))
        await checkpointer.close()
        assert await db(seqs) == []
        checkpointer.note(*counted(records[40:]))
        await checkpointer.close()
        assert await db(seqs) == [120]

    async def test_a_failure_to_store_stays_with_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*args: object) -> int:
            raise OSError("disk full")

        monkeypatch.setattr(checkpoints, "save", broken)
        records = log(60)
        checkpointer = Checkpointer(await db(stored, records))
        checkpointer.note(*counted(records))
        await checkpointer.close()
        assert await db(seqs) == []
