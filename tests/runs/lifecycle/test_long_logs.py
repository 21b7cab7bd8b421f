"""The run after a very long one: its claim reads a bounded part of what the long one left."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from events import checkpoints, journal
from events.journal import Page
from events.sealed import reading
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run, ThreadHistory
from tests.cast import Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = 3_000
PART = 100


class Rows:
    """How many events are read from logs, in both ways there are."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read = 0
        page, read_after = reading.rows, journal.read_after

        def counted_page(*args: Any) -> list[reading.Row]:
            rows = page(*args)
            self.read += len(rows)
            return rows

        def counted_read(*args: Any, **kwargs: Any) -> Page:
            rows_read = read_after(*args, **kwargs)
            self.read += len(rows_read.rows)
            return rows_read

        monkeypatch.setattr(reading, "rows", counted_page)
        monkeypatch.setattr(journal, "read_after", counted_read)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    monkeypatch.setattr(checkpoints, "EVERY_EVENTS", PART)
    return Rows(monkeypatch)


async def long_run(cast: Cast, register: Register, writer: JournalWriter) -> Run:
    async def agent(ctx: Any) -> AsyncIterator[str]:
        for number in range(EVENTS):
            yield f"{number} "

    run = await db(lambda: start(cast.alice, register("long", agent), threadId="t"))
    return await perform(run, writer)


def claimed_text(cast: Cast) -> str:
    """What the claim of the thread's next run gives its agent of the long answer."""
    run = start(cast.alice, threadId="t", messages=[{"id": "u", "role": "user", "content": "?"}])
    claimed = lifecycle.claim(run.pk)
    assert claimed
    return str(claimed.prepared.input["messages"][0]["content"])


WHOLE = "".join(f"{number} " for number in range(EVENTS))


async def test_the_fold_of_a_long_run_is_stored_with_its_end(
    cast: Cast, register: Register, writer: JournalWriter, rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Behind a large checkpoint there are no more: the end makes up for them."""
    monkeypatch.setattr(checkpoints, "LARGEST", 500)
    run = await long_run(cast, register, writer)
    stored = await db(ThreadHistory.objects.get, thread_id=run.thread_id)
    assert stored.through == run.pk
    rows.read = 0
    assert await db(claimed_text, cast) == WHOLE
    assert rows.read == 0


async def test_without_that_a_claim_goes_on_from_the_newest_checkpoint(
    cast: Cast, register: Register, writer: JournalWriter, rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """As after a worker that was killed between the end and its fold."""

    async def killed(*args: Any) -> None:
        return None

    monkeypatch.setattr(checkpoints.Checkpointer, "settle", killed)
    run = await long_run(cast, register, writer)
    newest = await db(
        lambda: checkpoints.Checkpoint.objects.filter(journal_id=run.pk).latest("seq").seq
    )
    assert newest > PART
    rows.read = 0
    assert await db(claimed_text, cast) == WHOLE
    head = (await db(lambda: Run.objects.select_related("journal").get(pk=run.pk))).journal.head
    assert rows.read == head - newest
