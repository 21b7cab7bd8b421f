"""Acts on many runs of the list: each as if it were the only one, and the outcome in words."""

import re
from html import unescape
from uuid import uuid4

import pytest

from agui_host.teams.models import AuditEntry
from runs.access import threads
from runs.lifecycle import lifecycle
from runs.models import Run, Status, Thread
from tests.cast import Actor, Cast, fresh, start
from tests.dashboard.conftest import Browse


def act(browse: Browse, actor: Actor, verb: str, runs: list[Run], **fields: str) -> tuple[int, str]:
    form = {"act": verb, "run": [str(run.pk) for run in runs], "query": "status=failed", **fields}
    answer = browse(actor).post("/runs/act", form, follow=True)
    outcome = re.search(r'<p class="banner info" role="status">(.*?)</p>', answer.content.decode())
    return answer.status_code, unescape(outcome[1]) if outcome else ""


def test_cancelling_says_what_came_of_each(cast: Cast, browse: Browse) -> None:
    own, others, ended = start(cast.bob), start(cast.alice), start(cast.bob)
    lifecycle.cancel(ended)
    foreign = start(cast.charlie)
    outcome = act(browse, cast.bob, "cancel", [own, own, others, ended, foreign])
    assert outcome == (200, "1 cancelled, 1 not allowed, 1 had ended, 1 no longer there.")
    assert fresh(own).status == Status.CANCELLED
    assert fresh(others).status == fresh(foreign).status == Status.QUEUED
    single = start(cast.bob)
    browse(cast.bob).post(f"/runs/{single.pk}/cancel")
    acts = [
        list(AuditEntry.objects.filter(target=str(run.pk)).values_list("action", "who", "details"))
        for run in (own, single)
    ]
    assert acts[0] == acts[1]


def test_erasing_asks_first_and_erases_as_one_does(cast: Cast, browse: Browse) -> None:
    alone, busy = start(cast.alice), start(cast.alice)
    lifecycle.cancel(alone)
    foreign = start(cast.charlie)
    assert act(browse, cast.bob, "erase", [alone])[0] == 403
    browser = browse(cast.alice)
    form = {"act": "erase", "run": [str(alone.pk), str(busy.pk)]}
    assert "Erase 2 runs?" in browser.post("/runs/act", form).content.decode()
    assert Run.objects.filter(pk=alone.pk).exists()
    outcome = act(browse, cast.alice, "erase", [alone, busy, foreign], confirmed="yes")
    assert outcome == (200, "1 erased, 1 not ended yet, 1 no longer there.")
    assert not Run.objects.filter(pk=alone.pk).exists()
    assert AuditEntry.objects.filter(action="thread.erased", who="user:alice").count() == 1
    assert act(browse, cast.bob, "erase", [busy], confirmed="yes")[1] == "1 not allowed."


def test_tags_go_to_the_threads_of_the_runs(cast: Cast, browse: Browse) -> None:
    runs = [start(cast.alice, threadId="a"), start(cast.bob, threadId="b")]
    Thread.objects.filter(thread_id="b").update(tags=["old"])
    assert act(browse, cast.bob, "tag", runs, tag=" vip ")[1] == "2 tagged."
    untagged = act(browse, cast.bob, "untag", runs, tag="old")[1]
    assert untagged == "1 lost the tag, 1 did not have the tag."
    assert list(Thread.objects.for_team(cast.team).values_list("tags", flat=True)) == [["vip"]] * 2
    assert act(browse, cast.vera, "tag", runs, tag="x")[1] == "2 not allowed."
    assert act(browse, cast.charlie, "tag", runs, tag="x") == (200, "")
    full = [f"t{n}" for n in range(threads.MOST_TAGS)]
    Thread.objects.filter(thread_id="a").update(tags=full)
    assert act(browse, cast.bob, "tag", runs[:1], tag="one more")[0] == 422


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"act": "cancel"}, 400),
        ({"act": "cancel", "run": "not an id"}, 400),
        ({"act": "cancel", "run": [str(uuid4()) for _ in range(101)]}, 400),
        ({"act": "explode", "run": str(uuid4())}, 400),
    ],
)
def test_bad_requests(
    cast: Cast, browse: Browse, fields: dict[str, str | list[str]], status: int
) -> None:
    assert browse(cast.alice).post("/runs/act", fields).status_code == status


def test_a_bad_tag_changes_nothing(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)
    for tag in ("", "x" * 61, "a\x00b"):
        assert act(browse, cast.alice, "tag", [run], tag=tag)[0] == 400
    assert Thread.objects.get(pk=run.thread_id).tags == []


def test_who_may_not_start_runs_has_no_boxes(cast: Cast, browse: Browse) -> None:
    start(cast.alice)
    assert 'name="run"' in browse(cast.bob).get("/runs/").content.decode()
    page = browse(cast.vera).get("/runs/").content.decode()
    assert 'name="run"' not in page
    assert 'action="/runs/act"' not in page


def test_two_runs_are_compared_the_older_first(cast: Cast, browse: Browse) -> None:
    older, newer = start(cast.alice), start(cast.alice)
    form = {"act": "compare", "run": [str(newer.pk), str(older.pk)]}
    answer = browse(cast.bob).post("/runs/act", form)
    assert answer.headers["location"] == f"/runs/{newer.pk}/compare?with={older.pk}"
    for wrong in ([older], [older, newer, start(cast.alice)]):
        assert act(browse, cast.bob, "compare", wrong)[0] == 400
