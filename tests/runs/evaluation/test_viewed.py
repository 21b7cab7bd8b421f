"""The runs of a saved view in a data set, over the API."""

from typing import Any
from uuid import uuid4

import pytest

from runs.access.inspect import saved_views
from runs.api.evaluation import viewed
from runs.models import Thread
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, start
from tests.runs.evaluation.test_evaluation import SETS, ended, listed, made

pytestmark = pytest.mark.django_db(transaction=True)


def saved(actor: Actor, query: str) -> str:
    values = {"name": query or "all", "query": query}
    return str(saved_views.create(actor.principal, values).pk)


def added(actor: Actor, key: str, **body: Any) -> Answer:
    own = {**actor.cookie, "origin": "http://localhost"}
    return ask_now("POST", f"{SETS}/{key}/runs", own, json=body)


def test_its_newest_ended_runs_that_the_team_sees(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [ended(cast.alice, f"Refund {number}") for number in range(4)]
    Thread.objects.filter(pk__in=[runs[0].thread_id, runs[1].thread_id]).update(tags=["vip"])
    Thread.objects.filter(pk=runs[1].thread_id).update(
        visibility="private", creator=cast.alice.principal.actor_id
    )
    start(cast.alice, threadId="queued")
    key = made(cast.alice)
    assert added(cast.bob, key, view=saved(cast.bob, "q=tag:vip since:1h")).json == {"added": 1}
    assert listed(cast.alice, key) == [str(runs[0].pk)], "others do not see the private one"
    every = saved(cast.alice, "sort=cost")
    assert added(cast.alice, key, view=every, label="none").json == {"added": 0}
    assert added(cast.alice, key, view=every, most=1).json == {"added": 1}
    assert listed(cast.alice, key) == [str(runs[3].pk), str(runs[0].pk)]
    monkeypatch.setattr(viewed, "LOOKED_AT", 1)  # which is the queued one
    assert added(cast.alice, key, view=every).json == {"added": 0}


def test_a_view_of_others_and_one_without_sense_add_nothing(cast: Cast) -> None:
    ended(cast.alice)
    key, mine = made(cast.alice), saved(cast.bob, "status=succeeded")
    assert added(cast.alice, key, view=mine).status == 404, "Bob's own view"
    assert added(cast.charlie, key, view=saved(cast.charlie, "")).status == 404, "another team"
    assert added(cast.alice, key, view=saved(cast.charlie, "agent=echo")).status == 404
    assert added(cast.alice, key, view=str(uuid4())).status == 404
    answer = added(cast.alice, key, view=saved(cast.alice, "took=soon"))
    assert (answer.status, answer.json["error"]["details"]) == (422, {"path": "view"})
    assert added(cast.alice, key, view="mine").status == 422
    assert added(cast.vera, key, view=mine).status in (403, 404)
    assert listed(cast.alice, key) == []
