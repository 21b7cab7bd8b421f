"""The bell's messages about a journal: positions, and fresh events while they are small."""

from collections.abc import Iterable
from uuid import UUID

from agui_host.backends import bell
from agui_host.backends.postgres import clock
from events.journal import Batch

CARRY_BYTES = 64 * 1024


def group(journal_id: UUID) -> str:
    """The bell's group for one journal."""
    return f"journal.{journal_id}"


def journal_of(topic: str) -> UUID | None:
    """The journal whose group a topic is; None for any other topic."""
    kind, _, name = topic.partition(".")
    return UUID(name) if kind == "journal" else None


def audience(journal_id: UUID) -> str:
    """The topic on which a process answers that it has readers of a journal."""
    return f"read.{journal_id}"


def question(journal_id: UUID) -> tuple[str, bell.Message]:
    """Group and message that ask all who listen to a journal whether they have readers."""
    topic = group(journal_id)
    return topic, {"type": "topic", "topic": topic}


def message(batch: Batch) -> tuple[str, bell.Message]:
    """Group and message for a committed batch; above ``CARRY_BYTES`` only its positions.

    The message names its journal, since the layer's receive queue does not say which group a
    message came from.
    """
    is_short = batch.bytes < CARRY_BYTES
    body: bell.Message = {
        "type": "journal",
        "journal": batch.journal_id.bytes,
        "first": batch.first,
        "last": batch.last,
        "final": batch.final,
        "epoch": batch.epoch,
        "at": clock.seconds(),
        "payloads": [record.payload for record in batch.records] if is_short else None,
    }
    return group(batch.journal_id), body


def now(batches: Iterable[Batch]) -> None:
    """Ring for batches that synchronous code has committed (use with ``on_commit``)."""
    bell.ring_now([message(batch) for batch in batches])
