"""The lag of a chore is the age of the oldest thing that waits for it, and 0 if nothing does."""

from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from agui_host.backends.postgres import clock
from agui_host.teams.models import Team
from events import outlines
from events.models import Journal
from runs.lifecycle import jobs
from runs.lifecycle.chores import lags
from runs.lifecycle.deletion import retention
from runs.lifecycle.words import storing
from runs.models import Run, Thread, Webhook, WebhookDelivery
from runs.models.webhook import Stop
from tests.cast import Cast, start
from tests.runs.asking import end
from tests.runs.past import old_run

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was read before, and nothing is kept."""
    monkeypatch.setattr(lags, "KEPT", -1.0)


def ended(cast: Cast, thread: str = "t", minutes: int = 5) -> Run:
    run = start(cast.alice, threadId=thread)
    end(run)
    Journal.objects.filter(pk=run.pk).update(closed_at=clock.now() - minutes * MINUTE)
    return run


def waiting() -> dict[str, float]:
    """The lags above 0."""
    return {chore: lag for chore, lag in lags.read().items() if lag}


@pytest.mark.usefixtures("cast")
def test_nothing_waits() -> None:
    assert lags.read().keys() == lags.BOUNDS.keys()
    assert waiting() == {}
    assert lags.late() == []


class TestWords:
    @pytest.mark.parametrize("marked", [False, True])
    def test_of_the_oldest_ended_run(self, cast: Cast, marked: bool) -> None:
        storing.mark()
        if not marked:
            end(start(cast.alice, threadId="before"))
            storing.run_once(10)
        ended(cast, "a", minutes=5)
        ended(cast, "b", minutes=3)
        start(cast.alice, threadId="live")
        if marked:
            storing.mark()
        assert 299 <= lags.read()["words"] < 360
        assert lags.late() == ["words"]
        storing.run_once(10)
        assert waiting() == {}

    def test_of_a_run_whose_words_are_those_of_its_beginning(self, cast: Cast) -> None:
        run = start(cast.alice)
        storing.run_once(10)
        assert waiting() == {}
        end(run)
        Journal.objects.filter(pk=run.pk).update(closed_at=clock.now() - 2 * MINUTE)
        assert 119 <= lags.read()["words"] < 180

    def test_not_of_an_old_run_in_a_renamed_thread(self, cast: Cast) -> None:
        run = ended(cast)
        storing.run_once(10)
        storing.renamed(run.thread)
        assert waiting() == {}


def test_outlines(cast: Cast) -> None:
    run = ended(cast)
    storing.run_once(10)
    jobs.store_outline(run.pk, outlines.WORTH_STORING)
    assert 0 < lags.read()["outlines"] < 60


class TestPurge:
    @pytest.fixture(autouse=True)
    def a_year(self, settings: Settings) -> None:
        settings.AGUI_LIMIT_RETENTION_DAYS = 365

    def test_of_the_oldest_run_that_is_over(self, cast: Cast) -> None:
        run = old_run(cast.alice)
        end(start(cast.alice, threadId="new"))
        storing.run_once(10)
        assert run.ended_at is not None
        age = (clock.now() - run.ended_at - timedelta(days=365)).total_seconds()
        assert lags.read()["purge"] == pytest.approx(age, abs=60)
        assert lags.late() == ["purge"]
        retention.run_once()
        assert waiting() == {}

    @pytest.mark.parametrize("model", [Thread, Team])
    def test_not_of_what_a_hold_keeps(self, cast: Cast, model: type[Thread] | type[Team]) -> None:
        old_run(cast.alice)
        storing.run_once(10)
        model.objects.update(legal_hold=True)
        assert waiting() == {}


class TestWebhooks:
    @pytest.fixture
    def delivery(self, cast: Cast) -> WebhookDelivery:
        hook = Webhook.objects.create(
            team=cast.team, url="https://example.com/", events=["run.succeeded"]
        )
        return WebhookDelivery.objects.create(
            team=cast.team, webhook=hook, type="ping", due_at=clock.now() - 2 * MINUTE
        )

    @pytest.mark.usefixtures("delivery")
    def test_of_the_oldest_that_is_due(self) -> None:
        assert 119 <= lags.read()["webhooks"] < 180

    def test_not_of_a_webhook_that_fails_or_is_off(self, delivery: WebhookDelivery) -> None:
        hooks = Webhook.objects.filter(pk=delivery.webhook_id)
        hooks.update(failing_since=clock.now())
        assert waiting() == {}
        hooks.update(failing_since=None, enabled=False, stopped=Stop.PAUSED)
        assert waiting() == {}


def test_ready_and_the_page_of_limits_name_it(cast: Cast, client: Client) -> None:
    assert "late" not in client.get("/ready").json()
    ended(cast)
    ready = client.get("/ready").json()
    assert ready["late"] == "words"
    client.force_login(cast.alice.user)
    page = client.get("/usage/", follow=True)
    assert "behind with: finding runs by their words" in page.content.decode()
