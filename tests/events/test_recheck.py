"""The recheck of an open stream: soon after its start, when a topic rings, and on a beat."""

import asyncio
from collections.abc import AsyncIterator

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
    watching = asyncio.create_task(recheck.until_refused(["t"], right, NEVER))
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


async def watched(question: str) -> None:
    """Wait until the hub rings for it."""
    while question not in hub()._rings:
        await asyncio.sleep(0)


async def test_readers_with_one_question_share_the_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: NEVER)
    right = Right()
    readers = [
        asyncio.create_task(recheck.until_refused(["t"], right, NEVER, question="one key, one run"))
        for _ in range(5)
    ]
    other = Right()
    another = asyncio.create_task(recheck.until_refused(["t"], other, NEVER, question="another"))
    await watched("t")
    readers[0].cancel()
    await asyncio.wait([readers[0]])
    hub().deliver({"topic": "t"})
    await asyncio.gather(right.next(), other.next())
    assert (right.questions, other.questions) == (1, 1)
    right.allowed = False
    hub().deliver({"topic": "t"})
    await asyncio.wait_for(asyncio.gather(*readers[1:]), 30)
    assert right.questions == 2
    assert not another.done()
    another.cancel()
    await asyncio.wait([another])
    assert not recheck._watches


async def test_a_reader_that_comes_during_a_check_gets_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The check can have read its rights before they were taken."""
    waits: list[tuple[float, float]] = []
    monkeypatch.setattr(recheck.random, "uniform", lambda *ends: (waits.append(ends), 0.001)[1])
    answers: list[asyncio.Future[bool]] = []

    async def right() -> bool:
        answers.append(asyncio.get_running_loop().create_future())
        return await answers[-1]

    def reader() -> asyncio.Task[None]:
        return asyncio.create_task(recheck.until_refused(["t"], right, NEVER, question="q"))

    first = reader()
    while not answers:
        await asyncio.sleep(0)
    second = reader()
    await asyncio.sleep(0)
    del waits[:]
    answers[0].set_result(True)
    while len(answers) < 2:
        await asyncio.sleep(0)
    assert waits == [(0.2, recheck.SOON)]
    answers[1].set_result(False)
    await asyncio.wait_for(asyncio.gather(first, second), 30)


async def test_a_reader_that_comes_between_two_checks_gets_one_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = Right()
    first = asyncio.create_task(recheck.until_refused(["t"], right, NEVER, question="q"))
    await right.next()
    await asyncio.sleep(0)
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: 0.001)
    second = asyncio.create_task(recheck.until_refused(["t"], right, NEVER, question="q"))
    right.allowed = False
    await asyncio.wait_for(asyncio.gather(first, second), 30)
    assert right.questions == 2


async def test_all_readers_get_the_error_of_a_check() -> None:
    async def fails() -> bool:
        raise ConnectionError("no database")

    readers = (recheck.until_refused(["t"], fails, 0.001, question="q") for _ in range(2))
    errors = await asyncio.gather(*readers, return_exceptions=True)
    assert [type(error) for error in errors] == [ConnectionError, ConnectionError]


async def test_a_reader_after_the_last_one_has_left_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: 0.001)
    right = Right()
    first = asyncio.create_task(recheck.until_refused(["t"], right, NEVER, question="q"))
    await right.next()
    first.cancel()
    right.allowed = False
    await asyncio.wait_for(recheck.until_refused(["t"], right, NEVER, question="q"), 30)
