"""Threads that compute for long take turns; short calls, and calls that wait, hold up nobody."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connection

from agui_host.backends.interpreter import processor
from agui_host.backends.interpreter.processor import LIGHT, PATIENCE, Turn, computing, rest

WITHIN = 20.0  # seconds until a test gives up

Submit = Callable[[Callable[[], None]], Future[None]]


@pytest.fixture
def submit() -> Iterator[Submit]:
    """Call something in a thread of its own."""
    with ThreadPoolExecutor(4) as threads:
        yield threads.submit


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "PATIENCE", WITHIN)


class Holder:
    """A long call that keeps its turn until it is told to leave."""

    def __init__(self, submit: Submit) -> None:
        self.began, self.leave = threading.Event(), threading.Event()
        self.future = submit(self._compute)
        assert self.began.wait(WITHIN)

    def _compute(self) -> None:
        with computing(long=True):
            self.began.set()
            assert self.leave.wait(WITHIN)

    def end(self) -> None:
        self.leave.set()
        self.future.result(WITHIN)


def compute_for(seconds: float) -> None:
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass


def short() -> None:
    with computing():
        rest(0.0)


def long() -> None:
    with computing(long=True):
        pass


def grows_long() -> None:
    with computing():
        compute_for(2 * LIGHT)
        rest(0.0)


@pytest.mark.usefixtures("patient")
def test_a_short_call_waits_for_no_turn(submit: Submit) -> None:
    holder = Holder(submit)
    submit(short).result(WITHIN)
    assert not holder.future.done()
    holder.end()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("call", [long, grows_long])
def test_a_long_call_waits_for_its_turn(submit: Submit, call: Callable[[], None]) -> None:
    holder = Holder(submit)
    second = submit(call)
    with pytest.raises(TimeoutError):
        second.result(10 * LIGHT)
    holder.end()
    second.result(WITHIN)


@pytest.mark.usefixtures("patient")
def test_a_call_that_rests_gives_its_turn_back(submit: Submit) -> None:
    resting, rested, again, left = (threading.Event() for _ in range(4))

    def call() -> None:
        with computing(long=True):
            with processor.waiting():
                resting.set()
                assert rested.wait(WITHIN)
            again.set()
            assert left.wait(WITHIN)

    first = submit(call)
    assert resting.wait(WITHIN)
    submit(long).result(WITHIN)
    rested.set()
    assert again.wait(WITHIN)
    second = submit(long)
    with pytest.raises(TimeoutError):
        second.result(10 * LIGHT)
    left.set()
    first.result(WITHIN)
    second.result(WITHIN)


@pytest.mark.usefixtures("patient")
@pytest.mark.django_db(transaction=True)
def test_a_call_that_waits_for_postgres_gives_its_turn_back(submit: Submit) -> None:
    with connection.cursor() as cursor, computing(long=True):
        cursor.execute("select pg_advisory_lock(4711)")
        asked = threading.Event()

        def call() -> None:
            try:
                with connection.cursor() as other, computing(long=True):
                    asked.set()
                    other.execute("select pg_advisory_xact_lock(4711)")
            finally:
                connection.close()

        with processor.waiting():
            blocked = submit(call)
            assert asked.wait(WITHIN)
            submit(long).result(WITHIN)
            assert not blocked.done()
        cursor.execute("select pg_advisory_unlock(4711)")
        with processor.waiting():
            blocked.result(WITHIN)


def test_a_call_computes_without_a_turn_in_the_end(submit: Submit) -> None:
    """The call that has the turn can wait for a lock of this one."""
    holder = Holder(submit)
    began = time.monotonic()
    submit(long).result(WITHIN)
    assert time.monotonic() - began >= PATIENCE
    assert not holder.future.done()
    holder.end()


@pytest.mark.usefixtures("patient")
def test_a_call_within_a_call_needs_no_second_turn(submit: Submit) -> None:
    def call() -> None:
        with computing(long=True):
            long()
            second = submit(long)
            with pytest.raises(TimeoutError):
                second.result(10 * LIGHT)

    submit(call).result(WITHIN)


@pytest.mark.usefixtures("patient")
def test_a_call_that_fails_gives_its_turn_back(submit: Submit) -> None:
    def call() -> None:
        with computing(long=True):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        submit(call).result(WITHIN)
    submit(long).result(WITHIN)


@pytest.mark.usefixtures("patient")
def test_the_call_that_has_computed_least_is_next(submit: Submit) -> None:
    turn, order = Turn(), list[float]()
    assert turn.take(0.0)

    def call(seconds: float) -> None:
        assert turn.take(seconds)
        order.append(seconds)
        turn.give_back()

    waiting = []
    for number, seconds in enumerate([0.3, 0.1, 0.2], 1):
        waiting.append(submit(partial(call, seconds)))
        while len(turn.waiting) < number:
            time.sleep(0.001)
    turn.give_back()
    for future in waiting:
        future.result(WITHIN)
    assert order == [0.1, 0.2, 0.3]
