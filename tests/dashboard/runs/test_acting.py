"""What the buttons of a run's page do without JavaScript: stop it, run it again."""

import json

from django.test import Client

from runs.models import Run, Status
from tests.cast import Cast, fresh, start
from tests.dashboard.conftest import Browse
from tests.runs.asking import asking, end, resume, yes

BUTTON = ">Run again</button>"


def page_of(browser: Client, run: Run) -> str:
    return browser.get(f"/runs/{run.pk}/").content.decode()


class TestCancel:
    def test_by_those_who_may(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice)
        for actor, status in ((cast.vera, 403), (cast.bob, 403), (cast.charlie, 404)):
            assert browse(actor).post(f"/runs/{run.pk}/cancel").status_code == status
        assert fresh(run).status == Status.QUEUED
        answer = browse(cast.alice).post(f"/runs/{run.pk}/cancel")
        assert answer["Location"] == f"/runs/{run.pk}/"
        assert fresh(run).status == Status.CANCELLED
        assert browse(cast.alice).post(f"/runs/{run.pk}/cancel").status_code == 302


class TestRunAgain:
    def test_the_same_input_replaces_the_answer(self, cast: Cast, browse: Browse) -> None:
        message = {"id": "m1", "role": "user", "content": "hello"}
        run = start(
            cast.alice, threadId="t", messages=[message], forwardedProps={"a": 1}, state={"b": 2}
        )
        browser = browse(cast.bob)
        assert BUTTON not in page_of(browser, run)
        end(run)
        assert BUTTON in page_of(browser, run)
        assert BUTTON not in page_of(browse(cast.vera), run)
        answer = browser.post(f"/runs/{run.pk}/again")
        second = Run.objects.exclude(pk=run.pk).get(team=cast.team)
        assert answer["Location"] == f"/runs/{second.pk}/"
        assert (second.thread_id, second.agent_id) == (run.thread_id, run.agent_id)
        assert second.started_by == "user:bob"
        body = json.loads(second.input)
        assert body["forwardedProps"] == {"a": 1, "regenerate": True}
        assert body["state"] == {"b": 2}
        assert "The log of the earlier one stays." in page_of(browser, second)
        # a second click finds a newer run
        again = browser.post(f"/runs/{run.pk}/again")
        assert again.status_code == 409
        assert "newest run of a thread" in again.content.decode()
        assert Run.objects.filter(team=cast.team).count() == 2

    def test_not_what_asked_or_answered(self, cast: Cast, browse: Browse) -> None:
        browser = browse(cast.bob)
        asked_run = asking(cast.alice, "i")
        answering = resume(cast.alice, yes("i"))
        end(answering)
        for run in (asked_run, answering, asking(cast.alice, "j", thread="2")):
            assert BUTTON not in page_of(browser, run)
            assert browser.post(f"/runs/{run.pk}/again").status_code == 409

    def test_not_by_strangers_or_viewers(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice)
        end(run)
        assert browse(cast.vera).post(f"/runs/{run.pk}/again").status_code == 403
        assert browse(cast.charlie).post(f"/runs/{run.pk}/again").status_code == 404
        assert Run.objects.filter(team=cast.team).count() == 1
