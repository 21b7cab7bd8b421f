"""The page of a thread: its runs as one conversation, who sees which of them, and what it costs."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.access import comments, sharing
from runs.access.inspect import turns
from runs.access.sharing import Terms, To
from runs.lifecycle import lifecycle
from runs.models import Level, Run, Thread, Visibility
from tests.cast import Actor, Cast, start
from tests.dashboard.conftest import Browse
from tests.runs.asking import interrupted, question

HOSTILE = "<script>alert(1)</script>"


def turn(actor: Actor, text: str, thread: str = "t", **fields: Any) -> Run:
    """A run of the thread that was interrupt this, and has been cancelled."""
    body = {
        "threadId": thread,
        "messages": [{"id": f"m-{uuid4()}", "role": "user", "content": text}],
    }
    run = start(actor, **body, **fields)
    lifecycle.cancel(run)
    run.refresh_from_db()
    return run


def page_of(browse: Browse, actor: Actor, key: UUID, query: str = "") -> str:
    answer = browse(actor).get(f"/threads/{key}/{query}")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_all_runs_are_one_conversation(cast: Cast, browse: Browse) -> None:
    runs = [turn(cast.alice, f"Question {number}") for number in range(3)]
    page = page_of(browse, cast.bob, runs[0].thread_id)
    places = [page.index(f'<div class="text" dir="auto">Question {number}') for number in range(3)]
    assert places == sorted(places)
    for run in runs:
        assert f'id="turn-{run.pk}"' in page
        assert f'href="/runs/{run.pk}/"' in page
    assert "3 runs" in page
    assert '<h1 dir="auto">Question 0</h1>' in page


def test_each_run_leads_to_its_thread(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "Hello.")
    page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
    assert f'href="/threads/{run.thread_id}/#turn-{run.pk}"' in page


def test_who_sees_it(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "Secret words.")
    unknown = browse(cast.charlie).get(f"/threads/{uuid4()}/")
    for address in ("", "earlier", "pulse"):
        assert browse(cast.charlie).get(f"/threads/{run.thread_id}/{address}").status_code == 404
    assert unknown.status_code == 404
    Thread.objects.for_team(cast.team).update(visibility=Visibility.PRIVATE)
    assert browse(cast.bob).get(f"/threads/{run.thread_id}/").status_code == 404
    assert "Secret words." in page_of(browse, cast.alice, run.thread_id)


def test_a_grant_on_one_run_shows_that_run_alone(cast: Cast, browse: Browse) -> None:
    first, second = turn(cast.alice, "First words."), turn(cast.alice, "Second words.")
    Thread.objects.for_team(cast.team).update(title="A title of the thread")
    sharing.share(cast.alice.principal, second, To(team=cast.other_team.pk), Terms(Level.VIEW))
    page = page_of(browse, cast.charlie, first.thread_id)
    assert "Second words." in page
    for text in ("First words.", "A title of the thread", str(first.pk), "thread-send", "composer"):
        assert text not in page, text
    assert "not the whole thread" in page


def test_a_link_shows_a_thread_without_what_it_hides(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "Words.")
    thread = Thread.objects.for_team(cast.team).get(pk=run.thread_id)
    _, token = sharing.share(cast.alice.principal, thread, To(), Terms(redact=["password"]))
    answer = browse(cast.charlie).get(f"/shared/{token}/")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert f'href="runs/{run.pk}/"' in page
    for text in ("Words.", "user:alice", "composer", "turn-foot", "/api/v1/"):
        assert text not in page, text


def test_a_long_thread_takes_no_more_queries(cast: Cast, browse: Browse) -> None:
    for number in range(turns.PAGE):
        turn(cast.alice, f"Question {number}")
    key = Run.objects.for_team(cast.team).values_list("thread_id", flat=True)[0]
    browser = browse(cast.alice)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert browser.get(f"/threads/{key}/").status_code == 200
        counts.append(len(queries))
        for number in range(turns.PAGE):
            turn(cast.alice, f"More {number}")
    # The first words of an earlier page are read for the heading.
    assert counts[1] <= counts[0] + 8
    assert counts[0] < 60


def test_earlier_turns_come_page_by_page(cast: Cast, browse: Browse) -> None:
    runs = [turn(cast.alice, f"Question {number};") for number in range(turns.PAGE + 3)]
    key = runs[0].thread_id
    page = page_of(browse, cast.alice, key)
    assert "Question 2;" not in page.partition("</h1>")[2]
    before = runs[3].pk
    assert f"?before={before}" in page
    for address in (f"?before={before}", f"earlier?before={before}"):
        older = page_of(browse, cast.alice, key, address)
        assert older.count('<article class="turn"') == 3
        assert "run 1</h2>" in older


def test_the_pulse_brings_new_turns_and_what_has_changed(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "First.")
    key, browser = run.thread_id, browse(cast.alice)
    [stamp] = stamps(page_of(browse, cast.alice, key))
    address = f"/threads/{key}/pulse?newest={run.pk}&turn={stamp}"
    assert browser.get(address).status_code == 204
    comments.write(cast.bob.principal, run.pk, "Look here.", None)
    fresh = browser.get(address).content.decode()
    assert "Look here." in fresh
    assert 'hx-swap-oob="true"' in fresh
    later = turn(cast.alice, "Second.")
    fresh = browser.get(address).content.decode()
    assert "Second." in fresh
    assert f'name="newest" value="{later.pk}"' in fresh


def stamps(page: str) -> list[str]:
    return [part.partition('"')[0] for part in page.split('name="turn" value="')[1:]]


def test_continue_in_place(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "First.")
    key, browser = run.thread_id, browse(cast.alice)
    answer = browser.post(f"/threads/{key}/send", {"message": "And then?"})
    assert (answer.status_code, answer["Location"]) == (302, f"/threads/{key}/#end")
    newest = Run.objects.for_team(cast.team).filter(thread=key).first()
    assert newest is not None
    assert json.loads(newest.input)["messages"][-1]["content"] == "And then?"
    assert "And then?" in page_of(browse, cast.alice, key)
    # While it runs, the agent gets the next message, once.
    for _ in range(2):
        steered = browser.post(
            f"/threads/{key}/send", {"message": "Quickly!", "message_id": "m"}, follow=True
        )
    assert "The agent gets your message" in steered.content.decode()
    assert [message.content for message in newest.messages.all()] == ["Quickly!"]
    refused = browser.post(f"/threads/{key}/send", {"message": "x" * 200_000})
    assert refused.status_code == 422
    assert "too long" in refused.content.decode()
    assert browse(cast.vera).post(f"/threads/{key}/send", {"message": "x"}).status_code == 403
    assert browse(cast.charlie).post(f"/threads/{key}/send", {"message": "x"}).status_code == 404


def test_regenerate_folds_the_earlier_attempt(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "First.")
    key = run.thread_id
    answer = browse(cast.alice).post(f"/threads/{key}/regenerate")
    assert answer.status_code == 302
    page = page_of(browse, cast.alice, key)
    assert page.count("An earlier attempt") == 1


def test_comments_stand_at_their_run(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "First.")
    key, browser = run.thread_id, browse(cast.bob)
    for text, status in ((HOSTILE, 302), ("", 422), ("x" * 10_001, 422)):
        answer = browser.post(f"/threads/{key}/comment", {"run": run.pk, "text": text, "seq": "1"})
        assert answer.status_code == status, text[:9]
    page = page_of(browse, cast.alice, key)
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "on #1" in page
    other = turn(cast.alice, "Elsewhere.", "another")
    assert (
        browser.post(f"/threads/{key}/comment", {"run": other.pk, "text": "x"}).status_code == 404
    )


def test_a_question_is_answered_in_place(cast: Cast, browse: Browse) -> None:
    run = interrupted(cast.alice, question("confirm"))
    key = run.thread_id
    page = page_of(browse, cast.bob, key)
    assert f'name="thread" value="{key}"' in page
    interrupt = run.interrupts.get()
    values = {"run": run.pk, "thread": key, "choice": "approve"}
    answer = browse(cast.bob).post(f"/inbox/{interrupt.pk}/answer", values)
    assert answer.status_code in (302, 422)


def test_title_and_visibility(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "First.")
    key, browser = run.thread_id, browse(cast.alice)
    values = {"title": HOSTILE, "visibility": "private"}
    assert browser.post(f"/threads/{key}/change", values).status_code == 302
    page = page_of(browse, cast.alice, key)
    assert HOSTILE not in page
    assert ">private</span>" in page
    assert browse(cast.bob).post(f"/threads/{key}/change", values).status_code == 404
    assert browser.post(f"/threads/{key}/change", {"title": "x" * 201}).status_code == 422


@pytest.mark.parametrize("query", ["?before=x", "?before="])
def test_every_address_shows_some(cast: Cast, browse: Browse, query: str) -> None:
    run = turn(cast.alice, "First.")
    answer = browse(cast.alice).get(f"/threads/{run.thread_id}/{query}")
    assert answer.status_code in (200, 400)


def test_before_the_first_turn_there_is_none(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "First.")
    for address in ("", "earlier"):
        page = page_of(browse, cast.alice, run.thread_id, f"{address}?before={run.pk}")
        assert '<article class="turn"' not in page


def test_nothing_is_sent_where_the_thread_cannot_go_on(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "Hello.")
    assert ">Send</button>" in page_of(browse, cast.alice, run.thread_id)
    agent = cast.echo
    agent.enabled = False
    agent.save()
    page = page_of(browse, cast.alice, run.thread_id)
    assert ">Send</button>" not in page
    assert "its agent is switched off" in page
    pulse = browse(cast.alice).get(f"/threads/{run.thread_id}/pulse?turn={run.pk}.x")
    assert "data-closed" in pulse.content.decode()
