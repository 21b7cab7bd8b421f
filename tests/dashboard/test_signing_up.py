"""Accounts: made as AGUI_SIGNUP allows, verified by a code, and given a team where it is open."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from agui_host.runtimes.models import Agent
from agui_host.teams.access import invitations
from agui_host.teams.models import AuditEntry, Invitation, Membership, Role, Team
from tests.cast import Cast
from tests.dashboard.signing import (
    DORA,
    PASSWORD,
    browser,
    is_signed_in,
    mailed_code,
    person,
    sign_in,
    sign_up,
    verify,
)

pytestmark = pytest.mark.usefixtures("no_attempts_yet")


def invited(cast: Cast, email: str = DORA, role: Role = Role.MEMBER) -> tuple[Invitation, str]:
    """The invitation and the path of its link."""
    row, link = invitations.send(cast.team, email, role, by="user:alice")
    return row, link.removeprefix("http://127.0.0.1:8000")


@pytest.mark.parametrize("mode", ["invited", "closed"])
def test_nobody_signs_up_uninvited(cast: Cast, settings: Any, mode: str) -> None:
    settings.AGUI_SIGNUP = mode
    client = browser()
    assert "by invitation only" in client.get("/signup/").content.decode()
    assert "Sign up" not in client.get("/login/").content.decode()
    sign_up(client)
    assert not User.objects.filter(username="dora").exists()
    assert not mail.outbox


def test_where_it_is_open_one_gets_a_team_of_ones_own(cast: Cast, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    client = browser()
    assert sign_up(client)["Location"] == "/account/verify/"
    assert not is_signed_in(client)
    assert not Team.objects.filter(slug="dora").exists()
    assert client.post("/account/verify/", {"code": "WRONG1"}).status_code == 200
    assert not is_signed_in(client)
    assert verify(client)["Location"] == "/"
    assert is_signed_in(client)
    mine = Membership.objects.get(user__username="dora")
    assert (mine.role, mine.team.name) == (Role.OWNER, "dora's team")
    assert Agent.objects.filter(team=mine.team, slug="echo").exists()
    assert AuditEntry.objects.for_team(mine.team).filter(action="team.founded").exists()
    assert "dora&#x27;s team" in client.get("/runs/").content.decode()
    sign_in(browser(), DORA)
    assert Membership.objects.filter(user__username="dora").count() == 1


def test_a_taken_name_for_a_team_is_no_obstacle(cast: Cast, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    client = browser()
    sign_up(client, "acme")
    verify(client)
    mine = Membership.objects.get(user__username="acme")
    assert mine.team.slug.startswith("acme-")
    assert mine.team != cast.team


def test_dora_is_invited_signs_up_verifies_and_joins(cast: Cast) -> None:
    _, path = invited(cast)
    client = browser()
    page = client.get(path).content.decode()
    assert "Join <bdi>Acme</bdi>" in page
    assert "Sign up" in page
    form = client.get(f"/signup/?next={path}").content.decode()
    assert f'value="{DORA}"' in form
    # The address is the invited one, whatever the browser sends.
    sign_up(client, email="evil@example.com", next=path)
    assert mail.outbox[-1].to == [DORA]
    assert verify(client)["Location"] == path
    assert "Join</button>" in client.get(path).content.decode()
    assert not Membership.objects.filter(user__username="dora").exists()
    assert client.post(path)["Location"] == "/runs/"
    assert Membership.objects.get(user__username="dora").team == cast.team
    assert "You are now a member of Acme." in client.get("/runs/").content.decode()
    assert client.get(path).status_code == 410
    assert client.get("/account/email/").status_code == 200


def test_who_passes_the_link_on_lets_nobody_else_in(cast: Cast) -> None:
    _, path = invited(cast)
    client = browser()
    client.get(path)
    sign_up(client, next=path)
    assert "Sign in" in client.post(path).content.decode()  # not verified, so not signed in
    assert client.get("/runs/").status_code == 302
    other = browser()
    other.force_login(cast.charlie.user)
    assert "have not verified" in other.get(path).content.decode()
    assert other.post(path).status_code == 403
    assert Membership.objects.filter(team=cast.team).count() == 3


def test_a_closed_house_still_lets_those_in_who_have_an_account(cast: Cast, settings: Any) -> None:
    settings.AGUI_SIGNUP = "closed"
    _, path = invited(cast)
    assert "Sign up" not in browser().get(path).content.decode()


def test_a_wrong_link_says_so(cast: Cast) -> None:
    answer = browser().get("/invitations/nonsense/")
    assert answer.status_code == 404
    assert browser().post("/invitations/nonsense/").status_code == 404


def test_an_address_that_is_taken_is_told_to_its_owner_only(cast: Cast, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    person("dora", DORA)
    client = browser()
    assert sign_up(client, "dora2")["Location"] == "/account/verify/"
    assert not User.objects.filter(username="dora2").exists()
    assert mail.outbox[-1].to == [DORA]
    assert "code" not in mail.outbox[-1].subject.lower()


def test_an_operators_person_without_an_address_needs_no_code(cast: Cast) -> None:
    person("omar")
    client = browser()
    assert sign_in(client, "omar")["Location"] == "/"
    assert is_signed_in(client)


def test_one_with_an_unverified_address_needs_the_code(cast: Cast) -> None:
    person("dora", DORA)
    client = browser()
    assert sign_in(client, "dora")["Location"] == "/account/verify/"
    assert not is_signed_in(client)
    verify(client)
    assert is_signed_in(client)


def test_a_forgotten_password_is_set_anew(cast: Cast) -> None:
    person("dora", DORA)
    client = browser()
    assert client.post("/account/password/reset/", {"email": DORA})["Location"].endswith("/sent/")
    link = next(w for w in str(mail.outbox[-1].body).split() if "/account/password/reset/" in w)
    assert link.startswith("http://127.0.0.1:8000/")
    form = client.get(link.removeprefix("http://127.0.0.1:8000"), follow=True)
    place = form.redirect_chain[-1][0]
    new = "another-horse-battery"
    answer = client.post(place, {"password1": new, "password2": new}, follow=True)
    assert answer.status_code == 200
    assert not is_signed_in(client)
    assert User.objects.get(username="dora").check_password(new)
    again = client.get(link.removeprefix("http://127.0.0.1:8000"), follow=True).content.decode()
    assert "password1" not in again
    unknown = client.post("/account/password/reset/", {"email": "nobody@example.com"})
    assert unknown["Location"].endswith("/sent/")


def test_a_mail_server_that_is_away_is_said(cast: Cast, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    answer = sign_up(browser())
    assert answer.status_code == 503
    assert "could not send" in answer.content.decode()


@pytest.mark.parametrize("weak", ["short", "password", "12345678", "dora"])
def test_a_weak_password_is_refused(cast: Cast, settings: Any, weak: str) -> None:
    settings.AGUI_SIGNUP = "open"
    form = {"username": "dora", "email": DORA, "password1": weak}
    assert 'role="alert"' in browser().post("/signup/", form).content.decode()
    assert not User.objects.filter(username="dora").exists()


def test_the_code_is_mailed_and_not_shown(cast: Cast, settings: Any, client: Client) -> None:
    settings.AGUI_SIGNUP = "open"
    sign_up(client)
    page = client.get("/account/verify/").content.decode()
    assert mailed_code() not in page
    assert PASSWORD not in page
