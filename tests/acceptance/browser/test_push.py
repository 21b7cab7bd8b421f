"""Notifications in a real browser: its service worker gets a message and shows the question.

Chromium subscribes at Google's push service only, so a message reaches the service worker by the
browser's debugger; ``tests/runs/notices/test_push.py`` decrypts what a push service would get.
"""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from runs.worker.notices.pushing import message
from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import Host
from tests.chromium import launched
from tests.runs.notices.asked import unsaved

__all__ = ["open_page", "session"]
TITLES = """async () => {
  const registration = await navigator.serviceWorker.ready;
  const shown = await registration.getNotifications();
  return shown.map(({ title, body, data }) => [title, body, data]);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Only a Chromium that has a window shows notifications."""
    with launched("chromium with a window") as browser:
        yield browser


def test_a_message_becomes_a_notification(open_page: Open, host: Host) -> None:
    page = open_page("/inbox/")
    page.context.grant_permissions(["notifications"])
    button = page.get_by_role("button", name="Notify me on this device")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.evaluate("navigator.serviceWorker.ready.then(({ active }) => active.state)")
    debugger = page.context.new_cdp_session(page)
    registrations: list[str] = []
    debugger.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(row["registrationId"] for row in event["registrations"]),
    )
    debugger.send("ServiceWorker.enable")
    for _ in range(100):  # The debugger's news arrive while the page is asked something.
        if registrations:
            break
        page.evaluate("new Promise(requestAnimationFrame)")
    assert registrations
    question = unsaved("Pay the bill of 4 dollars?")
    text = message([question]).decode()
    where = {"origin": host.url, "registrationId": registrations[-1]}
    debugger.send("ServiceWorker.deliverPushMessage", {**where, "data": text})
    page.wait_for_function(f"async () => (await ({TITLES})()).length === 1")
    ((title, body, address),) = page.evaluate(TITLES)
    assert (title, body) == ("echo asks", "Pay the bill of 4 dollars?")
    assert address == f"/runs/{question.run_id}/"
    assert json.loads(text)["tag"] == str(question.pk)
