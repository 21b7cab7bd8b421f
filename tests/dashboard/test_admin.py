"""Operators look at history in the admin, and cannot change it."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from events.models import Event, Journal
from runs.admin import LONGEST
from runs.models import Run, Thread
from tests.cast import Cast, start


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("model", [Thread, Run, Journal])
def test_history_is_shown_and_not_changed(
    cast: Cast, operator: Client, model: type[Thread | Run | Journal]
) -> None:
    run = start(cast.alice, threadId="the thread")
    key = run.thread_id if model is Thread else run.pk
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}"
    assert operator.get(f"{base}/").status_code == 200
    assert operator.get(f"{base}/?q={key}").status_code == 200
    assert operator.get(f"{base}/{key}/change/").status_code == 200
    for address in ("add/", f"{key}/delete/"):
        assert operator.get(f"{base}/{address}").status_code == 403
    assert operator.post(f"{base}/{key}/change/", {}).status_code == 403


def test_a_long_input_is_cut(cast: Cast, operator: Client) -> None:
    text = "x" * (3 * LONGEST)
    run = start(cast.alice, messages=[{"role": "user", "content": text}])
    page = operator.get(f"/admin/runs/run/{run.pk}/change/").content.decode()
    assert "characters)" in page
    assert "x" * (LONGEST - 500) in page
    assert "x" * LONGEST not in page


def test_events_are_not_in_the_admin() -> None:
    assert not admin.site.is_registered(Event)
