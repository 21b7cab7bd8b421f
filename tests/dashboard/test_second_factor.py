"""A second factor: half signed in is not signed in, anywhere; and guessing is slow."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from agui_host.backends import cache as shared
from agui_host.embedded.embedded import Engines
from agui_host.errors import Unauthenticated
from agui_host.teams import authentication
from agui_host.teams.models import Membership, Role
from tests.asgi import ask_now
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse
from tests.dashboard.signing import PASSWORD, browser, is_signed_in, person, sign_in, totp

pytestmark = pytest.mark.usefixtures("no_attempts_yet")


@pytest.fixture
def dora(cast: Cast) -> tuple[Client, str]:
    """A member with an authenticator app: her browser, and the app's secret."""
    user = person("dora")
    Membership.objects.create(user=user, team=cast.team, role=Role.MEMBER)
    client = browser()
    sign_in(client, "dora")
    address = client.get("/account/mfa/totp/activate/")["Location"]
    assert address.startswith("/account/reauthenticate/?")
    assert client.post(address, {"password": PASSWORD})["Location"] == "/account/mfa/totp/activate/"
    page = client.get("/account/mfa/totp/activate/")
    assert "data:" in page["Content-Security-Policy"]
    secret = page.context["form"].secret
    answer = client.post("/account/mfa/totp/activate/", {"code": totp(secret)})
    assert answer.status_code == 302
    cache.clear()  # a code is taken once
    return client, secret


def test_a_team_may_ask_everybody_for_one(cast: Cast, browse: Browse) -> None:
    run, alice, bob = start(cast.alice), browse(cast.alice), browse(cast.bob)
    rule = {"second_factor": "on", "key_days": ""}
    assert alice.post("/team/rules", rule).status_code == 409
    factor = Authenticator.objects.create(user=cast.alice.user, type="totp", data={})
    assert alice.post("/team/rules", rule)["Location"] == "/team/settings/"
    assert alice.get(f"/runs/{run.pk}/").status_code == 200
    page = bob.get(f"/runs/{run.pk}/")
    assert page.status_code == 403
    assert "/account/mfa/" in page.content.decode()
    refusal = bob.get(f"/api/v1/runs/{run.pk}", headers={"accept": "application/json"})
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (403, "second_factor_required")
    assert authentication.refreshed(cast.bob.principal) is None
    assert bob.get("/account/mfa/").status_code == 200
    machine = {"authorization": f"Bearer {cast.bob.key}", "accept": "application/json"}
    assert bob.get("/api/v1/runs", headers=machine).status_code == 200
    # another team of theirs stays open to them
    Membership.objects.create(user=cast.bob.user, team=cast.other_team, role="viewer")
    assert bob.get("/runs/").status_code == 200
    factor.delete()
    assert alice.get("/runs/").status_code == 403


def test_half_signed_in_is_not_signed_in(dora: tuple[Client, str]) -> None:
    client, secret = browser(), dora[1]
    assert sign_in(client, "dora", next="/team/")["Location"].startswith("/account/mfa/auth")
    assert not is_signed_in(client)
    assert client.get("/runs/").status_code == 302
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    with pytest.raises(Unauthenticated):
        authentication.resolve({}, cookies)
    cookie = {"cookie": f"sessionid={cookies['sessionid']}", "origin": "http://localhost"}
    assert ask_now("POST", "/agui", cookie, json={}).status == 401
    assert client.post("/account/mfa/authenticate/", {"code": "000000"}).status_code == 200
    assert not is_signed_in(client)
    answer = client.post("/account/mfa/authenticate/", {"code": totp(secret)})
    assert answer["Location"] == "/team/"
    assert is_signed_in(client)


def test_a_box_to_tick_stands_beside_its_words(dora: tuple[Client, str]) -> None:
    page = dora[0].get("/account/mfa/keys/add/").content.decode()
    assert re.search(r'<label class="tick"><input type="checkbox"[^>]*> Passwordless</label>', page)


def test_the_secret_is_sealed(dora: tuple[Client, str]) -> None:
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert dora[1] not in stored
    assert Authenticator.objects.get(type="totp").wrap().validate_code(totp(dora[1]))


def test_the_key_that_sealed_it_can_go(
    dora: tuple[Client, str], cast: Cast, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rotated with what agents have sealed; nobody has to connect an app again."""
    agent = cast.echo
    agent.seal({"headers": {"X-Key": "s3cret"}})
    agent.save()
    codes = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
    settings.AGUI_SECRETS_KEYS = ["n" * 32]
    call_command("rotate_secrets")
    assert "3 secrets" in capsys.readouterr().out
    settings.SECRET_KEY = "another"
    assert Authenticator.objects.get(type="totp").wrap().validate_code(totp(dora[1]))
    assert Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes() == codes
    assert cast.echo.unsealed() == {"headers": {"X-Key": "s3cret"}}
    settings.AGUI_SECRETS_KEYS = ["x" * 32]
    with pytest.raises(CommandError, match="3 secrets cannot be read"):
        call_command("rotate_secrets")


def test_a_recovery_code_works_once(dora: tuple[Client, str]) -> None:
    client, _ = dora
    assert "Recovery Codes" in client.get("/account/mfa/").content.decode()
    text = client.get("/account/mfa/codes/download/").content.decode()
    code = next(line.strip() for line in text.splitlines() if line.strip().isdigit())
    for _, works in enumerate((True, False)):
        other = browser()
        sign_in(other, "dora")
        other.post("/account/mfa/authenticate/", {"code": code})
        assert is_signed_in(other) is works


def test_the_admin_is_no_way_around_it(dora: tuple[Client, str], cast: Cast) -> None:
    user = Membership.objects.get(user__username="dora").user
    user.is_staff = user.is_superuser = True
    user.save()
    client = browser()
    form = {"username": "dora", "password": PASSWORD, "next": "/admin/"}
    answer = client.post("/admin/login/", form)
    assert answer["Location"].startswith("/login/?next=")
    assert not is_signed_in(client)
    client.force_login(cast.charlie.user)
    assert client.get("/admin/login/").status_code == 403
    client.force_login(user)
    assert client.get("/admin/").status_code == 200


def test_guessing_a_password_is_stopped(cast: Cast) -> None:
    person("dora")
    client = browser()
    for _ in range(5):
        assert sign_in(client, "dora", "wrong").status_code == 200
    page = sign_in(client, "dora").content.decode()
    assert "Too many failed" in page
    assert not is_signed_in(client)
    person("omar")
    assert sign_in(browser(), "omar").status_code == 302


def test_an_address_that_tries_all_the_time_is_stopped(cast: Cast) -> None:
    client = browser()
    answers = [sign_in(client, f"user{n}", "x").status_code for n in range(12)]
    assert answers[0] == 200
    for _ in range(31):
        answer = client.post("/login/", {"login": "x"})
    assert answer.status_code == 429
    assert "Too many attempts" in answer.content.decode()


@pytest.fixture
def no_valkey(engines: Engines, settings: Any) -> Iterator[None]:
    """The cache's address leads nowhere."""
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1"}}
    yield
    shared.ForgivingCache.resting_until = 0.0


def test_without_valkey_people_still_sign_in(cast: Cast, no_valkey: None) -> None:
    person("dora")
    client = browser()
    assert sign_in(client, "dora", "wrong").status_code == 200
    assert sign_in(client, "dora").status_code == 302
    assert is_signed_in(client)
