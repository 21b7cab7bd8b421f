"""What the bell says about a journal: positions, and fresh events while they are small."""

from collections.abc import Iterable
from uuid import UUID

from backends import bell
from backends.postgres import clock
from events.journal import Batch

CARRY_BYTES = 64 * 1024


def group(journal_id: UUID) -> str:
    """The bell's group for one journal."""
    return f"journal.{journal_id}"


def message(batch: Batch) -> tuple[str, bell.Message]:
    """Group and message for a committed batch; above ``CARRY_BYTES`` only its positions.

    The message names its journal, since the layer's receive queue does not say which group a
    message came from.
    """
    size = sum(len(record.payload) for record in batch.records)
    body: bell.Message = {
        "type": "journal",
        "journal": batch.journal_id.bytes,
        "first": batch.first,
        "last": batch.last,
        "final": batch.final,
        "at": clock.seconds(),
        "payloads": [record.payload for record in batch.records] if size < CARRY_BYTES else None,
    }
    return group(batch.journal_id), body


def now(batches: Iterable[Batch]) -> None:
    """Ring for batches that synchronous code has committed (use with ``on_commit``)."""
    bell.ring_now([message(batch) for batch in batches])
