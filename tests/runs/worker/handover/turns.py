"""The second turn of a thread, for tests of its hand-over."""

from typing import Any
from uuid import uuid4

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from runs.lifecycle.handover import links
from runs.models import Run, Worker
from runs.worker.taking import take
from tests.cast import Actor, Cast, fresh, start
from tests.runs.conversing import tell, text, user
from tests.runs.worker.handover.test_hands import (
    Losing,
    link_of_worker,
)

HEARD = ["u0", "a0", "u1"]
"""The ids of the messages that the agent of a second turn is given."""


def first_turn(actor: Actor, thread: str = "t") -> None:
    """A thread with a question of its user and an answer."""
    answer = [*text("a0", "yes"), {"type": "TEXT_MESSAGE_END", "messageId": "a0"}]
    tell(actor, *answer, threadId=thread, messages=[user("Is it?", "u0")])


def turn(actor: Actor, agent: str = "listens", **body: Any) -> Run:
    """The next turn of the thread, by which its user sends all that they have said."""
    body = {"threadId": "t", "messages": [user("Is it?", "u0"), user("Really?", "u1")], **body}
    return start(actor, Agent.objects.get(team=actor.team, slug=agent), **body)


async def losing(monkeypatch: pytest.MonkeyPatch) -> Losing:
    """From now on no line arrives."""
    lost = Losing(await db(link_of_worker))
    monkeypatch.setattr(links, "links", lambda: lost)
    return lost


def with_a_link(worker: int) -> None:
    """Starts can name this worker."""
    Worker.objects.filter(pk=worker).update(link=uuid4())


def claimed_and_put_back(cast: Cast, worker: int, **body: Any) -> Run:
    """A turn that its start has claimed for this worker, which has put it back unheard."""
    with_a_link(worker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "links", lambda: Losing(link_of_worker()))
        run = turn(cast.alice, **body)
    assert (run.worker, fresh(run).status) == (worker, "running")
    assert take.put_back(worker, 1, [], []) == [run.pk]
    return run
