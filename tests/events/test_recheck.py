"""The recheck of an open stream: soon after its start, when a topic rings, and on a beat."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.layers import channel_layers

from events import recheck
from events.hub import hub

NEVER = 3600.0


@pytest.fixture(autouse=True)
async def closed_hub() -> AsyncIterator[None]:
    yield
    await hub().close()
    await channel_layers["default"].flush()


class Right:
    """A right that is asked for, and can be taken away."""

    def __init__(self) -> None:
        self.allowed, self.questions = True, 0
        self.called = asyncio.Event()

    async def __call__(self) -> bool:
        self.questions += 1
        self.called.set()
        return self.allowed

    async def next(self) -> None:
        self.called.clear()
        await asyncio.wait_for(self.called.wait(), 30)


async def test_it_asks_soon_and_again_on_each_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[float, float]] = []
    monkeypatch.setattr(recheck.random, "uniform", lambda *ends: (waits.append(ends), 0.001)[1])
    right = Right()
    watching = asyncio.create_task(recheck.until_refused(["t"], right, 1.0))
    for _ in range(3):
        await right.next()
    right.allowed = False
    await asyncio.wait_for(watching, 30)
    assert waits[0] == (0.2, recheck.SOON), "soon after the start"
    assert set(waits[1:]) == {(0.8, 1.0)}, "streams of one moment do not ask together for ever"


async def test_a_ring_is_enough_and_a_ring_elsewhere_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: NEVER)
    right = Right()
    watching = asyncio.create_task(recheck.until_refused(["mine", "ours"], right, NEVER))
    while "ours" not in hub()._rings:
        await asyncio.sleep(0)
    for topic in ("mine", "ours"):
        hub().deliver({"topic": topic})
        await right.next()
    hub().deliver({"topic": "theirs"})
    await asyncio.sleep(0)
    assert right.questions == 2
    right.allowed = False
    hub().deliver({"topic": "mine"})
    await asyncio.wait_for(watching, 30)
    assert right.questions == 3
    assert not hub()._rings


async def listened(topic: str) -> None:
    """Wait until the hub rings for it."""
    while topic not in hub()._rings:
        await asyncio.sleep(0)


class Rights:
    """Rights to read several things."""

    def __init__(self, *allowed: str) -> None:
        self.allowed, self.questions = set(allowed), list[list[str]]()
        self.called = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, asked: Any) -> set[str]:
        self.questions.append(sorted(asked))
        allowed = self.allowed & set(asked)
        self.called.set()
        await self.may_answer.wait()
        return allowed

    async def next(self) -> None:
        """Wait for the next question."""
        await asyncio.wait_for(self.called.wait(), 30)
        self.called.clear()

    def reader(self, subject: str, question: str = "one key") -> asyncio.Task[None]:
        """A reader of that thing, who shares the question."""
        lost = recheck.until_lost(["t"], self, NEVER, question=question, subject=subject)
        return asyncio.create_task(lost)


async def test_readers_with_one_question_share_the_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: NEVER)
    rights, other = Rights("a", "b"), Rights("a")
    readers = [rights.reader(subject) for subject in "aabbb"]
    another = other.reader("a", "another key")
    await listened("t")
    readers[0].cancel()
    await asyncio.wait([readers[0]])
    hub().deliver({"topic": "t"})
    await asyncio.gather(rights.next(), other.next())
    assert (rights.questions, other.questions) == ([["a", "b"]], [["a"]])
    rights.allowed = {"a"}
    hub().deliver({"topic": "t"})
    await asyncio.wait_for(asyncio.gather(*readers[2:]), 30)
    assert not readers[1].done(), "another thing that it may read still"
    assert not another.done()
    for task in (readers[1], another):
        task.cancel()
    await asyncio.wait([readers[1], another])
    assert not recheck._watches
    assert len(rights.questions) == 2


async def test_many_things_are_asked_for_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: NEVER)
    monkeypatch.setattr(recheck, "MOST", 2)
    rights = Rights(*"abcd")
    readers = [rights.reader(subject) for subject in "abcde"]
    await listened("t")
    hub().deliver({"topic": "t"})
    await asyncio.wait_for(readers[4], 30)
    assert sorted(map(len, rights.questions)) == [1, 2, 2]
    assert not any(reader.done() for reader in readers[:4])
    for reader in readers:
        reader.cancel()
    await asyncio.wait(readers)


async def test_a_reader_that_comes_during_a_check_gets_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The check can have read its rights before they were taken."""
    monkeypatch.setattr(
        recheck.random, "uniform", lambda low, high: 0.001 if high == recheck.SOON else NEVER
    )
    rights = Rights("a")
    rights.may_answer.clear()
    first = rights.reader("a")
    await rights.next()
    second = rights.reader("a")
    await asyncio.sleep(0)
    rights.allowed.clear()
    rights.may_answer.set()
    await asyncio.wait_for(second, 30)
    assert rights.questions == [["a"], ["a"]]
    assert not first.done(), "it asks again with the next ring, or the next beat"
    hub().deliver({"topic": "t"})
    await asyncio.wait_for(first, 30)


async def test_the_first_check_of_a_reader_is_for_new_ones_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each start of a credential with 5,000 open streams would ask for all of them."""
    monkeypatch.setattr(
        recheck.random, "uniform", lambda low, high: 0.001 if high == recheck.SOON else NEVER
    )
    rights = Rights("a", "b")
    first = rights.reader("a")
    await rights.next()
    second = rights.reader("b")
    await rights.next()
    assert rights.questions == [["a"], ["b"]]
    rights.allowed.clear()
    hub().deliver({"topic": "t"})
    await asyncio.wait_for(asyncio.gather(first, second), 30)
    assert rights.questions[2:] == [["a", "b"]]


async def test_all_readers_of_a_check_get_its_error() -> None:
    async def fails(_asked: Any) -> set[str]:
        raise ConnectionError("no database")

    readers = (
        recheck.until_lost(["t"], fails, 0.001, question="q", subject=subject)
        for subject in ("a", "b")
    )
    errors = await asyncio.gather(*readers, return_exceptions=True)
    assert [type(error) for error in errors] == [ConnectionError, ConnectionError]
    assert not recheck._watches


async def test_a_reader_after_the_last_one_has_left_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: 0.001)
    rights = Rights("a")
    first = rights.reader("a")
    await rights.next()
    first.cancel()
    rights.allowed.clear()
    await asyncio.wait_for(rights.reader("a"), 30)
    assert not recheck._watches
