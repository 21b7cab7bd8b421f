"""The page of one run: its head, drawn by the server, and who may see it."""

import json
import re
from uuid import uuid4

from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agui_host.dashboard.templatetags import modules
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.cast import Actor, Cast, start
from tests.dashboard.conftest import Browse
from tests.dashboard.test_runs_list import HOSTILE, fail
from tests.runs.api.test_outline import tools, with_log

ONCE = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|data-now="[^"]+"')


def test_the_head_of_a_run(cast: Cast, browse: Browse) -> None:
    run = start(cast.bob, threadId="the thread", runId="the run", parentRunId="the parent")
    page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
    for text in ("echo", "queued", "<bdi>bob</bdi>", "the thread", "the run", "the parent"):
        assert text in page
    assert f'data-events="/api/v1/runs/{run.pk}/events"' in page
    assert f'data-action="/api/v1/runs/{run.pk}/cancel"' in page


def test_a_strangers_run_looks_like_none_at_all(cast: Cast, browse: Browse) -> None:
    theirs = start(cast.charlie, threadId="secret")
    browser = browse(cast.alice)
    for address in ("", "input"):
        answers = [browser.get(f"/runs/{key}/{address}") for key in (theirs.pk, uuid4())]
        assert [answer.status_code for answer in answers] == [404, 404]
        pages = [ONCE.sub("", answer.content.decode()) for answer in answers]
        assert pages[0] == pages[1]
        assert "There is no such run." in pages[0]
        assert "secret" not in pages[0]


def test_who_may_cancel_sees_the_button(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)

    def buttons(actor: Actor) -> int:
        return browse(actor).get(f"/runs/{run.pk}/").content.decode().count('id="cancel"')

    assert [buttons(actor) for actor in (cast.alice, cast.bob, cast.vera)] == [1, 0, 0]
    run = start(cast.bob)
    assert [buttons(actor) for actor in (cast.alice, cast.bob, cast.vera)] == [1, 1, 0]


def test_the_button_hides_when_the_run_has_ended(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)
    lifecycle.cancel(run)
    page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
    assert f'/api/v1/runs/{run.pk}/cancel" hidden>' in page


def test_hostile_text_is_text(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice, threadId=HOSTILE, runId=HOSTILE, parentRunId=HOSTILE)
    fail(run, HOSTILE)
    page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_input_is_given_as_it_was_stored(cast: Cast, browse: Browse) -> None:
    hostile_input = [{"id": "m1", "role": "user", "content": HOSTILE}]
    run = start(cast.alice, messages=hostile_input)
    answer = browse(cast.vera).get(f"/runs/{run.pk}/input")
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert json.loads(answer.content)["messages"] == hostile_input


def test_it_takes_ten_queries(
    cast: Cast, browse: Browse, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run, browser = start(cast.alice), browse(cast.alice)
    with django_assert_num_queries(10):
        assert browser.get(f"/runs/{run.pk}/").status_code == 200


def test_its_outline_is_in_the_page_and_every_address_shows_some(
    cast: Cast, browse: Browse
) -> None:
    run = start(cast.alice)
    lifecycle.cancel(run)
    for query in ("", "?outline=0", "?outline=x", "?outline=-1", "?outline=99999999999999"):
        answer = browse(cast.vera).get(f"/runs/{run.pk}/{query}")
        assert answer.status_code == 200, query
        assert f'data-url="/api/v1/runs/{run.pk}/outline"' in answer.content.decode()
    Run.objects.filter(pk=run.pk).update(purged_at=timezone.now())
    answer = browse(cast.vera).get(f"/runs/{run.pk}/")
    assert answer.status_code == 200
    assert 'id="outline"' not in answer.content.decode()


def test_the_page_asks_for_its_outline_as_the_timeline_does(cast: Cast, browse: Browse) -> None:
    run = with_log(cast.alice, tools(2))
    page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
    [limit] = re.findall(r"const LIMIT = (\d+);", modules.text("js/timeline/rows.mjs"))
    first = f"/api/v1/runs/{run.pk}/outline?after=0&amp;since=0&amp;limit={limit}"
    assert f'<link rel="preload" as="fetch" crossorigin href="{first}">' in page
    waits = browse(cast.alice).get(f"/runs/{start(cast.alice).pk}/").content.decode()
    assert 'rel="preload"' not in waits
