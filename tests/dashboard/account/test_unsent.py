"""Without JavaScript too, a text that was typed before the session ended comes back."""

import html
import re

import pytest
from django.test import Client

from agui_host.dashboard.account import unsent
from runs.models import Run
from tests.cast import Cast
from tests.dashboard.conftest import Browse
from tests.dashboard.threads.test_thread_page import turn

TEXT = "The customer's order is <b>4711</b>.\n\nCharge it once."
OURS = {"origin": "http://testserver", "sec-fetch-mode": "navigate"}

pytestmark = pytest.mark.usefixtures("no_attempts_yet")


def area(page: str) -> str:
    return html.unescape(re.findall(r"<textarea[^>]*>\n?(.*?)</textarea>", page, re.DOTALL)[0])


def test_the_text_waits_for_the_sign_in(cast: Cast) -> None:
    send = f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send"
    browser = Client(headers={"accept": "text/html"})
    form = {"message": TEXT, "csrfmiddlewaretoken": "old"}
    answer = browser.post(send, form)
    assert answer.headers["location"] == "/login/?next=/unsent/"
    assert browser.get("/unsent/").headers["location"] == "/login/?next=/unsent/"
    browser.force_login(cast.alice.user)
    page = browser.get("/unsent/").content.decode()
    assert area(page) == TEXT
    assert f'action="{send}"' in page
    assert 'value="old"' not in page
    browser.post(send, {"message": TEXT})
    assert Run.objects.for_team(cast.team).filter(asked__startswith="The customer").exists()


def test_another_browser_does_not_get_it(cast: Cast, browse: Browse) -> None:
    Client().post(f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send", {"message": TEXT})
    assert browse(cast.bob).get("/unsent/").headers["location"] == "/"


def test_a_script_keeps_its_page(cast: Cast) -> None:
    send = f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send"
    answer = Client(headers={"sec-fetch-mode": "cors"}).post(send, {"message": TEXT})
    assert answer.headers["location"] == f"/login/?next={send}"
    assert not answer.cookies.get("unsent")


def test_a_text_above_the_bound_is_in_the_answer(cast: Cast) -> None:
    text = "long " * unsent.MOST_CHARACTERS
    send = f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send"
    answer = Client().post(send, {"message": text})
    assert answer.status_code == 401
    assert area(answer.content.decode()) == text


def test_floods_are_not_kept(cast: Cast) -> None:
    send = f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send"
    answers = [Client().post(send, {"message": TEXT}) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [302] * 10 + [401]


def test_no_secret_is_kept(cast: Cast) -> None:
    browser = Client()
    browser.post("/team/webhooks/", {"url": "https://a.example", "new_secret": "hush"})
    browser.force_login(cast.alice.user)
    page = browser.get("/unsent/").content.decode()
    assert "https://a.example" in page
    assert "hush" not in page


def test_a_form_of_the_session_before_is_shown_again(cast: Cast) -> None:
    """Signed in again in another tab, its token is no longer valid."""
    send = f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send"
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.alice.user)
    form = {"message": TEXT, "csrfmiddlewaretoken": "x" * 64}
    answer = browser.post(send, form, headers=OURS)
    page = answer.content.decode()
    assert (answer.status_code, area(page)) == (403, TEXT)
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
    assert browser.post(send, form | {"csrfmiddlewaretoken": token}).status_code == 302


@pytest.mark.parametrize("headers", [{}, {"origin": "https://evil.example"}])
def test_a_form_of_another_site_is_refused(cast: Cast, headers: dict[str, str]) -> None:
    send = f"/threads/{turn(cast.alice, 'Hello.').thread_id}/send"
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.alice.user)
    answer = browser.post(send, {"message": TEXT}, headers=headers)
    assert answer.status_code == 403
    assert "4711" not in answer.content.decode()


def test_a_form_without_a_text_is_not_shown_again(cast: Cast) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.alice.user)
    run = turn(cast.alice, "Hello.")
    answer = browser.post(f"/runs/{run.pk}/cancel", {}, headers=OURS)
    assert answer.status_code == 403
    assert str(run.pk) not in answer.content.decode()


def test_a_password_is_never_shown_again() -> None:
    browser = Client(enforce_csrf_checks=True)
    answer = browser.post("/login/", {"login": "alice", "password": "hush"}, headers=OURS)
    assert answer.status_code == 403
    assert "hush" not in answer.content.decode()
