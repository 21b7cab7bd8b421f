"""Pages and the API show what a run was asked; what a link hides stays hidden."""

import re

import pytest

from runs.access import sharing, threads
from runs.access.sharing import Terms, To
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse
from tests.runs.asking import end

pytestmark = pytest.mark.django_db

QUESTION = "Where is <b>order</b> 7?"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}")


def ask(cast: Cast, question: str = QUESTION) -> Run:
    return start(cast.alice, messages=[{"id": "1", "role": "user", "content": question}])


@pytest.mark.django_db(transaction=True)
def test_the_api_has_previews_of_runs_and_threads(cast: Cast) -> None:
    run = ask(cast)
    end(run)
    Run.objects.for_team(cast.team).update(answered="It is on its way.")
    headers = cast.alice.headers
    for path in ("/api/v1/runs", f"/api/v1/runs/{run.pk}", "/api/v1/threads"):
        body = ask_now("GET", path, headers).json
        row = body["results"][0] if "results" in body else body
        assert "asked" in row, (path, row)
        assert (row["asked"], row["answered"]) == (QUESTION, "It is on its way."), body
    thread = ask_now("GET", f"/api/v1/threads/{run.thread_id}", headers).json
    assert thread["title"] == QUESTION, thread
    named = threads.change(cast.alice.principal, run.thread_id, {"title": "Orders"})
    assert (threads.title_of(named), named.asked) == ("Orders", QUESTION)


@pytest.mark.django_db(transaction=True)
def test_a_run_that_asks_nothing_leaves_its_threads_question(cast: Cast) -> None:
    """As one that answers a question of the agent's."""
    run = ask(cast)
    end(run)
    end(start(cast.alice, thread_id=run.thread.thread_id, messages=[]))
    assert threads.find(cast.alice.principal, run.thread_id).asked == QUESTION


def test_a_row_shows_the_question_the_person_and_no_id(cast: Cast, browse: Browse) -> None:
    run = ask(cast)
    page = browse(cast.alice).get("/runs/").content.decode()
    row = page[page.index(f'<tr id="run-{run.pk}"') :].partition("</tr>")[0]
    text = re.sub(r"<[^>]*>", " ", row)
    assert "Where is &lt;b&gt;order&lt;/b&gt; 7?" in text
    assert "alice" in text
    assert "user:" not in text
    assert not UUID.search(text)


def test_the_page_of_a_run_is_named_by_its_question(cast: Cast, browse: Browse) -> None:
    run = ask(cast, "Where is order 7?")
    page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
    assert "<title>Where is order 7? · echo · queued ·" in page
    assert "<h1><bdi>Where is order 7?</bdi>" in page


def test_a_link_shows_no_question_as_its_view_hides_inputs(cast: Cast, browse: Browse) -> None:
    run = ask(cast, 'Use {"password": "hunter2"}')
    lifecycle.cancel(run)
    owner = cast.alice.principal
    for target in (run, run.thread):
        for terms in (Terms(), Terms(redact=("password",))):
            token = sharing.share(owner, target, To(), terms)[1]
            page = browse(cast.alice).get(f"/shared/{token}/").content.decode()
            assert "hunter2" not in page
