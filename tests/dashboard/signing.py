"""Signing up, in and through a second factor, as a browser does it."""

import re
from typing import Any

from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from agui_host.teams.models import Membership, Team

PASSWORD = "correct-horse-battery-staple"
DORA = "dora@example.com"


def browser() -> Client:
    return Client(headers={"accept": "text/html"})


def sign_up(client: Client, name: str = "dora", email: str = DORA, next: str = "") -> Any:
    form = {"username": name, "email": email, "password1": PASSWORD, "next": next}
    return client.post("/signup/", form)


def mailed_code() -> str:
    """The code in the newest mail."""
    code = re.search(r"^([A-Z0-9]{3,}-?[A-Z0-9]+)$", str(mail.outbox[-1].body), re.MULTILINE)
    assert code, mail.outbox[-1].body
    return code[1]


def verify(client: Client) -> Any:
    return client.post("/account/verify/", {"code": mailed_code()})


def sign_in(client: Client, login: str, password: str = PASSWORD, next: str = "") -> Any:
    return client.post("/login/", {"login": login, "password": password, "next": next})


def is_signed_in(client: Client) -> bool:
    """What a page, the API and Django each think of this browser; they must agree."""
    known = "_auth_user_id" in client.session
    assert (client.get("/account/email/").status_code == 200) is known
    machine = {"accept": "application/json"}
    assert (client.get("/api/v1/runs", headers=machine).status_code in (200, 403)) is known
    return known


def person(name: str, email: str = "") -> User:
    return User.objects.create_user(name, email, PASSWORD)


def totp(secret: str) -> str:
    """The code that an authenticator app shows now."""
    return format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))


def role_of_dora(team: Team) -> str | None:
    row = Membership.objects.for_team(team).filter(user__email=DORA).first()
    return row.role if row else None
