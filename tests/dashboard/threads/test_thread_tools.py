"""On the page of a thread: find inside, thumbs, and who is here."""

import pytest
from django.core.cache import cache
from django.test import Client

from agui_host.dashboard.thread import presence
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.lifecycle.words import storing
from runs.models import Feedback, Run, Thread
from tests.asgi import ask_now
from tests.cast import Cast
from tests.dashboard.conftest import Browse
from tests.dashboard.threads.test_thread_page import page_of, turn
from tests.runs.conversing import tell, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nobody_here() -> None:
    cache.clear()


def test_find_leads_to_turns_that_are_not_on_the_page(cast: Cast, browse: Browse) -> None:
    runs = [turn(cast.alice, f"Question {n} {'pelican' if n < 2 else ''}") for n in range(12)]
    other = turn(cast.alice, "A pelican elsewhere", thread="other")
    storing.mark()
    storing.run_once(50)
    key = runs[0].thread_id
    page = page_of(browse, cast.bob, key, "?find=Pelican")
    assert "2 runs with" in page
    assert f'id="turn-{runs[0].pk}"' not in page
    assert f"?find=Pelican&amp;up_to={runs[0].pk}#turn-{runs[0].pk}" in page
    assert str(other.pk) not in page
    page = page_of(browse, cast.bob, key, f"?find=Pelican&up_to={runs[0].pk}")
    assert f'id="turn-{runs[0].pk}"' in page
    assert f'id="turn-{runs[1].pk}"' not in page
    assert "To the newest turns" in page
    assert "No run has" in page_of(browse, cast.bob, key, "?find=albatross")
    assert "Write one to" in page_of(browse, cast.bob, key, "?find=%2B%2B")
    assert "No run has" in page_of(browse, cast.bob, key, "?find=<script>%00x")
    assert browse(cast.charlie).get(f"/threads/{key}/?find=Pelican").status_code == 404
    # Whoever sees one run does not search the others.
    sharing.share(cast.alice.principal, runs[5], To(team=cast.other_team.pk), Terms())
    assert browse(cast.charlie).get(f"/threads/{key}/?find=Pelican").status_code == 403


def rated(browser: Client, run: Run, thumb: str) -> str:
    answer = browser.post(
        f"/threads/{run.thread_id}/rate", {"run": run.pk, "thumb": thumb}, follow=True
    )
    assert answer.status_code == 200
    return answer.content.decode()


def test_thumbs_are_on_the_page_in_lists_and_filters(cast: Cast, browse: Browse) -> None:
    run, other = turn(cast.alice, "One"), turn(cast.alice, "Two", thread="other")
    page = rated(browse(cast.bob), run, "up")
    assert 'aria-label="Good answer of run 1" aria-pressed="true"><svg' in page
    rated(browse(cast.alice), run, "down")
    rows = ask_now("GET", "/api/v1/runs?thumb=down", cast.bob.headers).json["results"]
    assert [(row["id"], row["thumbs_up"], row["thumbs_down"]) for row in rows] == [
        (str(run.pk), 1, 1)
    ]
    rows = ask_now("GET", "/api/v1/runs", cast.bob.headers).json["results"]
    assert [row["thumbs_up"] for row in rows] == [0, 1]
    listing = browse(cast.bob).get("/runs/?q=thumb:up").content.decode()
    assert str(run.pk) in listing
    assert str(other.pk) not in listing
    # An open page learns of them; pressing the thumb again takes it back.
    stamp = f"{run.pk}.cancelled..0.last.0"
    pulse = f"/threads/{run.thread_id}/pulse?turn={stamp}&newest={run.pk}&present="
    assert "</svg><span>1</span></button>" in browse(cast.bob).get(pulse).content.decode()
    rated(browse(cast.bob), run, "")
    url = f"/api/v1/runs/{run.pk}/feedback"
    page = {**cast.alice.cookie, "origin": "http://localhost"}
    assert ask_now("DELETE", url, page).status == 204
    assert not Feedback.objects.of_any_team().exists()
    assert ask_now("GET", "/api/v1/runs?thumb=sideways", cast.bob.headers).status == 422
    assert browse(cast.vera).post(
        f"/threads/{run.thread_id}/rate", {"run": other.pk, "thumb": "up"}
    ).status_code in (403, 404)


def test_an_answer_is_rated_where_it_stands(cast: Cast, browse: Browse) -> None:
    run = tell(cast.alice, *text("first", "A"), *text("se cond", "B"))
    page = page_of(browse, cast.bob, run.thread_id)
    assert 'value="up first" aria-label="Good answer of run 1" aria-pressed="false"' in page
    assert 'value="up "' in page[page.index("<template>") :]
    assert 'value="up "' not in page[: page.index("<template>")]
    page = rated(browse(cast.bob), run, "up se cond")
    assert 'value=" se cond" aria-label="Good answer of run 1" aria-pressed="true"' in page
    assert "&quot;se cond&quot;:[1,0,&quot;up&quot;]" in page
    assert 'value="up first"' in page
    page = rated(browse(cast.alice), run, "down se cond")
    assert "&quot;se cond&quot;:[1,1,&quot;down&quot;]" in page
    # A whole run that somebody has rated shows it; only the API rates one that has answers.
    url = f"/api/v1/runs/{run.pk}/feedback"
    assert ask_now("PUT", url, cast.bob.headers, json={"thumb": "down"}).status == 200
    page = page_of(browse, cast.bob, run.thread_id)
    assert 'value="up "' in page[: page.index("<template>")]
    answer = browse(cast.bob).post(
        f"/threads/{run.thread_id}/rate", {"run": run.pk, "thumb": "up no-such"}
    )
    assert answer.status_code == 422
    assert "data-rated" not in page_of(browse, cast.vera, run.thread_id)
    assert 'class="thumbs"' not in page_of(browse, cast.vera, run.thread_id)


def test_who_is_here_is_seen_by_the_others_for_some_seconds(cast: Cast, browse: Browse) -> None:
    run = turn(cast.alice, "One")
    page = page_of(browse, cast.alice, run.thread_id)
    assert "Also here" not in page
    assert "Also here: <b><bdi>alice</bdi></b>" in page_of(browse, cast.bob, run.thread_id)
    pulse = f"/threads/{run.thread_id}/pulse?present="
    answer = browse(cast.alice).get(pulse)
    assert "bob</bdi>" in answer.content.decode()
    assert browse(cast.alice).get(f"{pulse}bob").status_code == 204
    # Who may not see it is not there, and hears nothing.
    assert browse(cast.charlie).get(pulse).status_code == 404
    Thread.objects.for_team(cast.team).update(visibility="private")
    assert browse(cast.bob).get(pulse).status_code == 404
    # Other teams' people do not learn who is in this one, and are not named to it.
    Thread.objects.for_team(cast.team).update(visibility="team")
    sharing.share(cast.alice.principal, run, To(team=cast.other_team.pk), Terms())
    assert "Also here" not in page_of(browse, cast.charlie, run.thread_id)
    assert "charlie" not in page_of(browse, cast.bob, run.thread_id)
    # A page that asks no more is gone.
    cache.delete(f"present.{run.thread_id}.{cast.bob.principal.actor_id}")
    assert browse(cast.alice).get(f"{pulse}bob").status_code == 200
    assert presence.others(cast.alice.principal, run.thread_id) == []
    assert presence.SECONDS < 20
