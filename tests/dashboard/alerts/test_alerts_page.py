"""The pages of alerts: made, snoozed, paused and deleted by owners and admins, seen by all."""

import pytest

from runs.access.alerts import checking
from runs.access.inspect import saved_views
from runs.models import Alert
from tests.cast import Cast
from tests.dashboard.conftest import SURE, Browse
from tests.runs.jobs import FAILED
from tests.runs.usage.test_usage import run_of

pytestmark = pytest.mark.django_db(transaction=True)
NEW = {"name": "<b>Fails", "measure": "failed_runs", "threshold": "1", "window_hours": "24",
       "least_runs": "1", "agent": "echo", "tell": ["mail", "webhook"]}  # fmt: skip


def test_the_life_of_an_alert(cast: Cast, browse: Browse) -> None:
    owner, viewer = browse(cast.alice), browse(cast.vera)
    assert "no alerts yet" in owner.get("/alerts/").content.decode()
    assert owner.post("/alerts/", NEW).status_code == 302
    alert = Alert.objects.for_team(cast.team).get()
    assert (alert.agent, alert.tell, alert.window_hours) == ("echo", ["mail", "webhook"], 24)
    page = f"/alerts/{alert.pk}/"
    assert "not checked yet" in viewer.get(page).content.decode()
    run_of(cast.alice, cast.echo, FAILED)
    checking.run_once(60)
    text = viewer.get(page).content.decode()
    assert "&lt;b&gt;Fails" in text
    assert '<span class="bad">fired</span>' in text
    assert "/runs/?agent=echo&amp;status=failed&amp;since=" in text
    assert "<form" not in text.split("<main")[1]
    assert "firing" in viewer.get("/alerts/").content.decode()
    assert "Fails\N{POP DIRECTIONAL ISOLATE} is firing" in owner.get("/").content.decode()
    assert owner.post(f"{page}snooze", {"hours": "24"}).status_code == 302
    assert "snoozed until" in owner.get(page).content.decode()
    assert owner.post(f"{page}snooze").status_code == 302
    assert "snoozed until" not in owner.get(page).content.decode()
    assert owner.post(f"{page}switch", {"enabled": "no"}).status_code == 302
    text = owner.get(page).content.decode()
    assert "paused" in text
    assert "resolved" in text
    for address in ("snooze", "switch", "remove"):
        assert viewer.post(page + address, SURE).status_code == 403
        assert browse(cast.charlie).post(page + address, SURE).status_code == 404
    assert "Delete this alert?" in owner.post(f"{page}remove").content.decode()
    assert owner.post(f"{page}remove", SURE).status_code == 302
    assert not Alert.objects.for_team(cast.team).exists()


def test_the_form_takes_a_saved_view(cast: Cast, browse: Browse) -> None:
    view = saved_views.create(cast.alice.principal, {"name": "Mine", "query": "agent=echo"})
    owner = browse(cast.alice)
    assert "Mine" in owner.get("/alerts/").content.decode()
    owner.post("/alerts/", {**NEW, "agent": "", "view": str(view.pk)})
    assert Alert.objects.for_team(cast.team).get().agent == "echo"


@pytest.mark.parametrize(
    ("name", "label"),
    [("bob", "user:bob"), ("user:bob", "user:bob"), ("key:abcd1234", "key:abcd1234")],
)
def test_people_are_named_by_their_logins(
    cast: Cast, browse: Browse, name: str, label: str
) -> None:
    owner = browse(cast.alice)
    assert "user:" not in owner.get("/alerts/").content.decode()
    owner.post("/alerts/", {**NEW, "started_by": name, "tell": ["push", "webhook"]})
    alert = Alert.objects.for_team(cast.team).get()
    assert alert.person == label
    assert "Tells by notifications, webhooks." in owner.get(f"/alerts/{alert.pk}/").content.decode()


@pytest.mark.parametrize("fields", [
    {"agent": "nobody"}, {"threshold": "0"}, {"threshold": "nan"}, {"window_hours": "3"},
    {"measure": "mood"}, {"view": "x"}, {"least_runs": "0"}, {"tell": ["pigeon"]},
])  # fmt: skip
def test_a_wrong_form_comes_back_with_its_fault(
    cast: Cast, browse: Browse, fields: dict[str, object]
) -> None:
    answer = browse(cast.alice).post("/alerts/", NEW | fields)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert browse(cast.bob).post("/alerts/", NEW).status_code == 403
