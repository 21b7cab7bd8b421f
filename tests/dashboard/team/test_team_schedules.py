"""The pages of the team's schedules, with plain forms."""

import json

from runs.models import Run, Schedule
from tests.cast import Cast
from tests.dashboard.conftest import SURE, Browse

SCHEDULES = "/team/schedules/"
FORM = {
    "name": "Nightly", "agent": "", "message": "Report <b>", "cron": "0 9 * * *", "run_at": "",
    "time_zone": "Europe/Berlin", "thread": "new", "missed": "skip",
}  # fmt: skip


def test_a_schedule_is_made_paused_run_and_deleted(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.bob)
    one = browser.post(SCHEDULES, FORM)["Location"]
    row = Schedule.objects.get()
    assert one == f"{SCHEDULES}{row.pk}/"
    assert (row.agent, row.missed, row.owner) == ("echo", "skip", f"user:{cast.bob.user.pk}")
    assert json.loads(row.input) == {"messages": [{"role": "user", "content": "Report <b>"}]}
    page = browser.get(one).content.decode()
    assert page.count("<li><time") == 5
    assert "Report &lt;b&gt;" in page
    assert "Every day at 09:00, Europe/Berlin</strong>; next: <time" in page
    listing = browser.get(SCHEDULES).content.decode()
    assert "Nightly" in listing
    assert "Every day at 09:00, Europe/Berlin" in listing
    browser.post(f"{one}switch", {"paused": "yes"})
    assert "Stopped (paused)" in browser.get(one).content.decode()
    browser.post(f"{one}switch", {"paused": "no"})
    run = browser.post(f"{one}run")["Location"]
    assert run == f"/runs/{Run.objects.get().pk}/"
    Schedule.objects.update(
        last_tick="2026-11-22T10:00:00Z", last_code="forbidden", last_message="Not you."
    )
    assert "Not you. (forbidden)" in browser.get(one).content.decode()
    assert browser.post(f"{one}remove", SURE)["Location"] == SCHEDULES
    assert not Schedule.objects.exists()


def test_what_is_wrong_is_said(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.bob)
    for wrong in (
        {"cron": "0 0 30 2 *"}, {"cron": "", "run_at": "then"}, {"cron": ""}, {"agent": "nobody"},
        {"time_zone": "Mars"},
    ):  # fmt: skip
        answer = browser.post(SCHEDULES, FORM | wrong)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.content.decode()
    assert not Schedule.objects.exists()


def test_viewers_see_that_others_manage_them(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.vera)
    assert "Members, admins and owners manage" in browser.get(SCHEDULES).content.decode()
    assert browser.post(SCHEDULES, FORM).status_code == 422
