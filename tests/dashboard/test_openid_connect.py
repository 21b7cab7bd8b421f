"""Sign-in by OpenID Connect, through a provider of the tests' own."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from agui_host.teams.access import invitations
from agui_host.teams.models import Membership, Role
from tests.acceptance.host import Host
from tests.cast import Cast
from tests.dashboard.provider import CLIENT, SECRET, Provider
from tests.dashboard.signing import DORA, browser, is_signed_in

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
BEGIN = "/account/sso/sso/login/"


def go(client: Client, begin: str = BEGIN, **form: str) -> Any:
    """Press the button and follow the browser's way until it is back; the last answer."""
    page = client.post(begin, form)
    assert page.status_code == 200, page.headers
    target = re.search(r'content="0;url=([^"]+)"', page.content.decode())
    assert target
    away = httpx.get(target[1].replace("&amp;", "&"), timeout=20, trust_env=False)
    assert away.status_code == 302
    back = away.headers["location"].removeprefix("http://testserver")
    return client.get(back)


def test_the_button_is_there_when_it_is_configured(cast: Cast, configured: Provider) -> None:
    assert "Acme account" in browser().get("/login/").content.decode()


def test_without_configuration_there_is_none(cast: Cast) -> None:
    assert "/account/sso/" not in browser().get("/login/").content.decode()
    assert browser().post(BEGIN).status_code == 404


def test_somebody_new_signs_in_where_sign_up_is_open(
    cast: Cast, configured: Provider, settings: Any
) -> None:
    settings.AGUI_SIGNUP = "open"
    client = browser()
    assert go(client)["Location"] == "/"
    assert is_signed_in(client)
    assert Membership.objects.get(user__username="dora").role == Role.OWNER
    assert configured.paths.count("/token") == 1
    assert go(browser())["Location"] == "/"
    assert User.objects.filter(email=DORA).count() == 1


@pytest.mark.parametrize("verified", [True, False])
def test_who_is_invited_comes_in_with_a_proven_address(
    cast: Cast, configured: Provider, verified: bool
) -> None:
    configured.person["email_verified"] = verified
    _, link = invitations.send(cast.team, DORA, Role.MEMBER, by="user:alice")
    path = link.removeprefix("http://127.0.0.1:8000")
    client = browser()
    client.get(path)
    answer = go(client, next=path)
    assert is_signed_in(client) is verified
    if verified:
        assert answer["Location"] == path
        client.post(path)
    assert Membership.objects.filter(team=cast.team, user__email=DORA).exists() is verified


def test_a_stolen_answer_opens_nothing(cast: Cast, configured: Provider, settings: Any) -> None:
    settings.AGUI_SIGNUP = "open"
    client = browser()
    answer = client.get("/account/sso/sso/callback/?code=stolen&state=made-up")
    assert answer.status_code == 401
    assert not is_signed_in(client)
    assert "/token" not in configured.paths
    assert not mail.outbox


def test_a_provider_that_is_away_is_said(cast: Cast, configured: Provider) -> None:
    configured.server.shutdown()
    configured.server.server_close()
    answer = browser().post(BEGIN)
    assert answer.status_code == 503
    assert "does not answer" in answer.content.decode()


@pytest.mark.slow
def test_a_real_host_by_its_environment(provider: Provider, new_host: Callable[..., Host]) -> None:
    host = new_host(
        AGUI_OIDC_URL=provider.url,
        AGUI_OIDC_CLIENT_ID=CLIENT,
        AGUI_OIDC_CLIENT_SECRET=SECRET,
        AGUI_SIGNUP="open",
        NO_PROXY="127.0.0.1",
    )
    with httpx.Client(base_url=host.url, timeout=60, trust_env=False) as client:
        client.headers.update({"accept": "text/html", "origin": host.url})
        page = client.get("/login/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token
        assert "Single sign-on" in page
        form = {"csrfmiddlewaretoken": token[1], "next": "/team/"}
        leaving = client.post(BEGIN, data=form)
        away = re.search(r'content="0;url=([^"]+)"', leaving.text)
        assert away, leaving.text
        landing = client.get(away[1].replace("&amp;", "&"), follow_redirects=True)
        assert str(landing.url) == f"{host.url}/team/"
        assert "dora&#x27;s team" in landing.text
