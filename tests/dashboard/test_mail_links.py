"""Links in mails lead to this host as it is configured, whatever name a request came with."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from agui_host.teams.models import Membership, Role
from tests.cast import Cast
from tests.dashboard.signing import PASSWORD

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
PUBLIC, EVIL = "https://agents.example.com", "evil.example"
DORA = "dora@example.com"


@pytest.fixture
def dora(cast: Cast, settings: Any) -> Client:
    """A browser that names another host, as an attacker's program would."""
    settings.AGUI_PUBLIC_URL, settings.ALLOWED_HOSTS = PUBLIC, ["*"]
    settings.AGUI_SIGNUP = "open"
    user = User.objects.create_user("dora", DORA, PASSWORD)
    Membership.objects.create(team=cast.team, user=user, role=Role.OWNER)
    EmailAddress.objects.create(user=user, email=DORA, verified=True, primary=True)
    return Client(headers={"accept": "text/html", "host": EVIL})


def reset(client: Client) -> None:
    client.post("/account/password/reset/", {"email": DORA})


def reset_of_nobody(client: Client) -> None:
    client.post("/account/password/reset/", {"email": "nobody@example.com"})


def sign_up_again(client: Client) -> None:
    client.post("/signup/", {"username": "d2", "email": DORA, "password1": PASSWORD})


def invite(client: Client) -> None:
    client.force_login(User.objects.get(username="dora"))
    client.post("/team/invitations", {"email": "eve@example.com", "role": "viewer"})


@pytest.mark.parametrize(
    ("act", "path"),
    [
        (reset, "/account/password/reset/"),
        (reset_of_nobody, "/signup/"),
        (sign_up_again, "/account/password/reset/"),
        (invite, "/invitations/"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_no_mail_leads_elsewhere(dora: Client, act: Callable[[Client], None], path: str) -> None:
    act(dora)
    text = f"{mail.outbox[-1].subject} {mail.outbox[-1].body}"
    assert f"{PUBLIC}{path}" in text
    assert EVIL not in text
