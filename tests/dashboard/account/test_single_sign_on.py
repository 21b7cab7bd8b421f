"""Decisions that are the same for a provider of OpenID Connect and one of SAML."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User

from tests.cast import Cast
from tests.dashboard import test_openid_connect as openid
from tests.dashboard.saml import way as saml
from tests.dashboard.signing import DORA, PASSWORD, browser, is_signed_in, person, sign_in

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
Go = Callable[..., Any]
"""With a browser to the provider and back; the last answer."""


@pytest.fixture(params=["openid", "saml"])
def go(request: pytest.FixtureRequest) -> Go:
    if request.param == "openid":
        request.getfixturevalue("configured")
        return openid.go
    return partial(saml.go, idp=request.getfixturevalue("idp"))


@pytest.mark.parametrize("mode", ["invited", "closed"])
def test_elsewhere_nobody_comes_in_uninvited(cast: Cast, go: Go, settings: Any, mode: str) -> None:
    settings.AGUI_SIGNUP = mode
    client = browser()
    assert "by invitation only" in go(client).content.decode()
    assert not is_signed_in(client)
    assert not User.objects.filter(email=DORA).exists()


def test_a_provider_takes_nobodys_account_over(cast: Cast, go: Go, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    person("dora", DORA)
    client = browser()
    answer = go(client)
    assert not is_signed_in(client)
    assert answer["Location"] in ("/account/sso/signup/", "/account/verify/")


def test_one_connects_it_to_ones_account(cast: Cast, go: Go) -> None:
    person("omar")
    client = browser()
    sign_in(client, "omar")
    assert "Connect Acme account" in client.get("/account/sso/").content.decode()
    again = go(client, process="connect")
    assert again["Location"] == "/account/reauthenticate/"
    client.post(again["Location"], {"password": PASSWORD})
    other = browser()
    go(other)
    assert other.session["_auth_user_id"] == client.session["_auth_user_id"]


def test_the_second_factor_is_asked_here_too(cast: Cast, go: Go, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    go(browser())
    user = User.objects.get(email=DORA)
    Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})
    client = browser()
    assert go(client)["Location"].startswith("/account/mfa/authenticate/")
    assert not is_signed_in(client)
