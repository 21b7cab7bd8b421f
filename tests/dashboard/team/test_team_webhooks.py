"""The pages of the team's webhooks, with plain forms."""

import re

from django.utils import timezone

from runs.models import Webhook, WebhookDelivery
from tests.cast import Cast
from tests.dashboard.conftest import SURE, Browse

HOOKS = "/team/webhooks/"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{44}")
FORM = {"url": "https://example.com/hook", "events": ["run.failed", "run.started"], "agents": ""}


def test_a_webhook_is_made_tried_and_deleted(cast: Cast, browse: Browse) -> None:
    """Its secret is on the page that answers, and on no other."""
    browser = browse(cast.alice)
    first = SECRET.search(browser.post(HOOKS, FORM).content.decode())
    assert first
    row = Webhook.objects.get()
    assert (row.events, row.agents, row.contents) == (["run.started", "run.failed"], None, False)
    page = browser.get(HOOKS).content.decode()
    assert "https://example.com/hook" in page
    assert not SECRET.search(page)
    one = f"{HOOKS}{row.pk}/"
    rotated = SECRET.search(browser.post(f"{one}rotate").content.decode())
    assert rotated
    assert rotated[0] != first[0]
    assert browser.post(f"{one}test")["Location"] == one
    delivery = WebhookDelivery.objects.get()
    attempt = {"at": "2026-11-22T10:00:00+00:00", "status": 500, "error": "", "ms": 7}
    ended = {"status": "failed", "ended_at": timezone.now(), "attempts": [attempt]}
    WebhookDelivery.objects.update(**ended)
    page = browser.get(one).content.decode()
    assert "500  (7 ms)" in page
    again = f"{one}deliveries/{delivery.pk}/redeliver"
    assert again in page
    browser.post(again)
    assert WebhookDelivery.objects.get().status == "pending"
    browser.post(f"{one}switch", {"enabled": "no"})
    assert "Disabled (paused)" in browser.get(one).content.decode()
    browser.post(f"{one}switch", {"enabled": "yes"})
    assert browser.post(f"{one}remove", SURE)["Location"] == HOOKS
    assert not Webhook.objects.exists()


def test_what_is_wrong_is_said(cast: Cast, browse: Browse) -> None:
    for wrong in ({"url": "http://10.0.0.1/"}, {"events": []}, {"agents": "nobody"}):
        answer = browse(cast.alice).post(HOOKS, FORM | wrong)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.content.decode()
    assert not Webhook.objects.exists()


def test_members_see_that_others_manage_them(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.bob)
    assert "Owners and admins manage" in browser.get(HOOKS).content.decode()
    assert browser.post(HOOKS, FORM).status_code == 422
    assert not Webhook.objects.exists()
