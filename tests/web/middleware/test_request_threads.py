"""Views have threads that are there already: an event loop waits for no new one."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agui_host.backends.postgres.bridge import db
from agui_host.web import asgi
from agui_host.web.middleware.request_threads import RequestThreads
from tests.asgi import ask
from tests.cast import Cast, Register

BOUND = 10.0


class Views:
    """An app that calls a view in a task, as Django does, and the threads in which it did so."""

    def __init__(self, view: Callable[[], Any] = lambda: None) -> None:
        self.view = view
        self.threads: list[int] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        def call() -> None:
            self.threads.append(threading.get_ident())
            self.view()

        await sync_to_async(call)()
        calling = asyncio.create_task(sync_to_async(call)())
        await asyncio.wait([calling])
        calling.result()


async def passed_to(app: RequestThreads) -> None:
    await app({"type": "http"}, None, None)  # type: ignore[arg-type]


async def test_one_request_after_another_has_the_same_thread() -> None:
    views = Views()
    app = RequestThreads(views)
    for _ in range(5):
        await passed_to(app)
    assert len(views.threads) == 10
    assert len(set(views.threads)) == 1


async def test_requests_at_the_same_time_have_a_thread_each() -> None:
    meeting = threading.Barrier(3)
    views = Views(partial(meeting.wait, BOUND))
    app = RequestThreads(views)
    for _ in range(2):
        await asyncio.gather(*(passed_to(app) for _ in range(3)))
    assert len(set(views.threads)) == 3


async def test_a_view_that_fails_gives_its_thread_back() -> None:
    def fail() -> None:
        raise ValueError("no")

    views = Views(fail)
    app = RequestThreads(views)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await passed_to(app)
    assert len(set(views.threads)) == 1


async def test_a_view_that_is_left_keeps_its_thread_until_its_end() -> None:
    begun, ending = threading.Event(), threading.Event()

    def stay() -> None:
        if len(views.threads) == 2:
            begun.set()
            assert ending.wait(BOUND)

    views = Views(stay)
    app = RequestThreads(views)
    left = asyncio.create_task(passed_to(app))
    await asyncio.to_thread(begun.wait, BOUND)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    await passed_to(app)
    assert len(set(views.threads)) == 2, "the next request does not wait for it"
    ending.set()
    async with asyncio.timeout(BOUND):
        while len(app.idle) < 2:
            await asyncio.sleep(0.01)


@pytest.mark.django_db(transaction=True)
async def test_no_event_loop_starts_a_thread_for_a_request(
    cast: Cast, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge: ``Thread.start`` returns when the new thread has had the interpreter."""
    started: list[str] = []
    start = threading.Thread.start

    def noted(self: threading.Thread) -> None:
        if asyncio._get_running_loop() is not None:
            started.append(self.name)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", noted)
    await db(register, "subject", str)
    run = {"agent": "subject", "input": {"messages": []}}

    async def requests() -> None:
        for path in ("/api/v1/runs", "/api/v1/threads", "/a2a/tasks", "/login/", "/health"):
            assert (await ask("GET", path, cast.alice.headers)).status == 200, path
        assert (await ask("POST", "/api/v1/runs", cast.alice.headers, json=run)).status == 202

    asgi.views.idle.clear()
    await requests()
    assert started, "the first requests start the threads"
    for _ in range(10):  # pools of bounded size can still grow
        started.clear()
        await requests()
        if not started:
            return
    raise AssertionError(started)
