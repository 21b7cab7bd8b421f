"""Joining at the very moment at which a run ends: whatever happens between two statements."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake.verifier import Verifier
from runs.lifecycle.logs import joining
from tests.cast import Cast, fresh, log_of, start
from tests.runs.conversing import Stream, Told, tell, text, user

pytestmark = pytest.mark.django_db(transaction=True)

Wire = dict[str, Any]
END_TEXT = {"type": "TEXT_MESSAGE_END", "messageId": "a2"}
MOST = 40
"""Statements of one join; a bound for the test, never reached."""
KNOWN = [
    ["1", "one", "2", "half"],
    ["1", "one", "2", "half", "3", "more"],
    ["1", "one", "2", "anew"],
    ["1", "one", "2", "half", "anew"],
    ["1", "one", "2"],
]
"""The texts that a reader may hold in the end, by what it came before."""


class Injector:
    """Does something, on a connection of its own, when the nth statement is about to run."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at, self.act, self.calls = at, act, 0

    @property
    def fired(self) -> bool:
        return self.calls > self.at

    def __call__(self, execute: Any, *args: Any) -> Any:
        self.calls += 1
        if self.calls == self.at + 1:
            elsewhere(self.act)
        return execute(*args)


def elsewhere(act: Callable[[], None]) -> None:
    def acting() -> None:
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(acting).result()


class Scene:
    """A thread with an ended run and a live one, which ``happens`` changes."""

    def __init__(self, cast: Cast, thread: str) -> None:
        self.cast, self.thread = cast, thread
        tell(cast.alice, *text("a1", "one"), {**END_TEXT, "messageId": "a1"},
             threadId=thread, runId="r1", messages=[user("1", "u1")])  # fmt: skip
        self.run = start(cast.alice, threadId=thread, runId="r2", messages=[user("2", "u2")])
        self.live = Told(self.run).say(*text("a2", "half"))
        self.then: Told | None = None

    def ends(self) -> None:
        self.live.say({**END_TEXT}).end()

    def goes_on(self) -> None:
        self.ends()
        run = start(self.cast.alice, threadId=self.thread, runId="r3", messages=[user("3", "u3")])
        self.then = Told(run).say(*text("a3", "more"))

    def is_told_anew(self) -> None:
        self.ends()
        questions = [user("1", "u1"), user("2", "u2")]
        run = start(self.cast.alice, threadId=self.thread, runId="r3", messages=questions)
        self.then = Told(run).say(*text("a3", "anew"))

    def all_ends(self) -> None:
        if self.then:
            self.then.say({**END_TEXT, "messageId": "a3"}).end()


def by_connect(scene: Scene) -> tuple[joining.Cut, list[UUID]]:
    joined = joining.thread(scene.run.thread_id)
    assert joined
    return joined


def by_repeating(scene: Scene) -> tuple[joining.Cut, list[UUID]]:
    return joining.again(fresh(scene.run)), [scene.run.pk]


def by_reading(scene: Scene) -> tuple[joining.Cut, list[UUID]]:
    return joining.live(fresh(scene.run)) or joining.Cut(0, b""), [scene.run.pk]


def received(cut: joining.Cut, runs: list[UUID]) -> list[Wire]:
    """What a reader gets in the end."""
    events, after = Stream.of(cut.opening).events, cut.position
    for run in runs:
        events += log_of(run)[after:]
        after = 0
    return events


def check_legal(events: list[Wire]) -> Fold:
    verifier, fold = Verifier(), Fold()
    for event in events:
        if event["type"] == "RUN_STARTED" and verifier.ended is not None:
            verifier = Verifier()
        verifier.feed(event)  # raises Violation
        fold.feed(event)
    assert verifier.ended is not None
    return fold


def texts(fold: Fold) -> list[str]:
    return [str(message["content"]) for message in fold.messages]


@pytest.mark.parametrize("happens", [Scene.ends, Scene.goes_on, Scene.is_told_anew])
@pytest.mark.parametrize("join", [by_connect, by_repeating, by_reading])
def test_it_may_happen_between_any_two_statements(
    cast: Cast, join: Any, happens: Callable[[Scene], None]
) -> None:
    for at in range(MOST):
        scene = Scene(cast, f"t{at}")
        injector = Injector(at, lambda scene=scene: happens(scene))
        with connection.execute_wrapper(injector):
            cut, runs = join(scene)
        if not injector.fired:
            break
        scene.all_ends()
        events = received(cut, runs)
        fold = check_legal(events)
        endings = [json.dumps(event) for event in events if event["type"] == "RUN_FINISHED"]
        assert len(endings) == len(set(endings)) <= 2
        assert texts(fold)[-1:] != [], "never an empty stream for a thread with a history"
        if cut.opening:
            assert texts(fold) in KNOWN
    else:
        pytest.fail("it never came to its end")
    assert at > 3, "the injector fired between several statements"
