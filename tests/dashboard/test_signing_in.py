"""Pages are for people who have signed in, and say no politely."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.cast import Cast, start
from tests.dashboard.conftest import Browse

PASSWORD = "correct-horse-battery"
ID = "01890000-0000-7000-8000-000000000000"


def test_a_page_sends_strangers_to_the_sign_in_and_back(cast: Cast, client: Client) -> None:
    run = start(cast.alice)
    for address in ("/runs/?status=failed", "/runs/pulse", f"/runs/{run.pk}/"):
        answer = client.get(address)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/login/?next=/runs/")
    cast.alice.user.set_password(PASSWORD)
    cast.alice.user.save()
    form = {"login": "alice", "password": PASSWORD, "next": "/runs/?status=failed"}
    assert client.post("/login/", form)["Location"] == "/runs/?status=failed"
    assert client.get("/runs/").status_code == 200


def test_the_sign_in_page_leads_nowhere_else(cast: Cast, client: Client) -> None:
    cast.alice.user.set_password(PASSWORD)
    cast.alice.user.save()
    form = {"login": "alice", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/login/", form)["Location"] == "/runs/"


def test_a_wrong_password_is_said(cast: Cast, client: Client) -> None:
    answer = client.post("/login/", {"login": "alice", "password": "wrong"})
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()


def test_the_front_door(cast: Cast, browse: Browse) -> None:
    assert browse(cast.alice).get("/")["Location"] == "/runs/"


@pytest.mark.parametrize("address", ["/runs", "/login"])
def test_a_forgotten_slash_is_forgiven(cast: Cast, browse: Browse, address: str) -> None:
    answer = browse(cast.alice).get(f"{address}?agent=echo")
    assert (answer.status_code, answer["Location"]) == (301, f"{address}/?agent=echo")


def test_signing_out_takes_a_post(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.alice)
    assert browser.get("/logout/")["Location"] == "/"
    assert browser.get("/runs/").status_code == 200
    assert browser.post("/logout/")["Location"] == "/login/"
    assert browser.get("/runs/").status_code == 302


def test_an_open_list_is_led_away_as_a_whole(cast: Cast, client: Client) -> None:
    answer = client.get("/runs/pulse", headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/login/")


def test_a_person_in_no_team_is_told_so(db: None, client: Client) -> None:
    client.force_login(User.objects.create_user("nora"))
    answer = client.get("/runs/")
    assert answer.status_code == 403
    assert "not a member of any team" in answer.content.decode()


@pytest.mark.parametrize("key", ["Bearer wrong", "Basic wrong", "right"])
@pytest.mark.parametrize(
    "address",
    ["/", "/runs", "/runs/", "/runs/pulse", f"/runs/{ID}/", f"/runs/{ID}/events", "/account/mfa/"],
    ids=("root", "without slash", "list", "part", "run", "events", "account"),
)
def test_a_key_is_refused_instead_of_led_to_a_page(
    cast: Cast, client: Client, address: str, key: str
) -> None:
    headers = cast.alice.headers if key == "right" else {"authorization": key}
    for each in (headers, {**headers, "HX-Request": "true"}):
        answer = client.get(address, headers=each)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.json()["error"]["code"] == "unauthenticated"
    page = client.get(address, headers={**headers, "accept": "text/html"})
    assert (page.status_code, "text/html" in page["Content-Type"]) == (401, True)
    assert 'href="/login/"' in page.content.decode()


def test_a_key_beside_a_session_changes_nothing(cast: Cast, browse: Browse) -> None:
    wrong = {"authorization": "Bearer wrong"}
    assert browse(cast.alice).get("/", headers=wrong)["Location"] == "/runs/"
    assert browse(cast.alice).get("/runs/", headers=wrong).status_code == 200


def test_pages_allow_nothing_inline_and_stay_out_of_caches(cast: Cast, browse: Browse) -> None:
    browser, run = browse(cast.alice), start(cast.alice)
    for address in ("/runs/", f"/runs/{run.pk}/", "/login/?next=/"):
        answer = (Client() if "login" in address else browser).get(address)
        policy = answer["Content-Security-Policy"]
        assert {"default-src 'none'", "script-src 'self'"} <= set(policy.split("; "))
        assert "unsafe" not in policy
        assert "no-store" in answer["Cache-Control"]
        page = answer.content.decode()
        assert " style=" not in page
        assert " onclick=" not in page
        loaded = ("<script src=", '<script type="module" src=')
        data = page.count('type="application/json"')  # read by a script, never run
        assert page.count("<script") == sum(map(page.count, loaded)) + data
