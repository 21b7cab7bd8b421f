"""Sign-in by SAML: who comes in, and with which role."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from lxml import etree

from agui_host.dashboard.account.saml import identity_provider
from agui_host.teams import keys
from agui_host.teams.access import invitations
from agui_host.teams.models import GroupRule, Membership, Role, Scope, TeamDomain
from tests.cast import Cast
from tests.dashboard.saml.idp import IdentityProvider
from tests.dashboard.saml.way import BEGIN, away_of, go
from tests.dashboard.signing import DORA, browser, is_signed_in, role_of_dora

pytestmark = pytest.mark.usefixtures("no_attempts_yet")


def test_the_button_is_there_and_our_metadata(cast: Cast, idp: IdentityProvider) -> None:
    assert "Acme account" in browser().get("/login/").content.decode()
    assert idp.paths == [], "nothing is fetched to show a button"
    answer = browser().get("/account/sso/saml/metadata/")
    root = etree.fromstring(answer.content)
    assert root.get("entityID") == "http://127.0.0.1:8000/account/sso/saml/metadata/"
    spaces = {"md": "urn:oasis:names:tc:SAML:2.0:metadata"}
    place = root.xpath("//md:AssertionConsumerService/@Location", namespaces=spaces)
    assert place == ["http://127.0.0.1:8000/account/sso/saml/acs/"]
    assert root.xpath("//@WantAssertionsSigned") == ["true"]


def test_without_configuration_there_is_none(cast: Cast) -> None:
    assert browser().post(BEGIN).status_code == 404
    for name in ("acs", "metadata"):
        assert browser().post(f"/account/sso/saml/{name}/").status_code in (404, 405)
    assert browser().get("/account/sso/saml/metadata/").status_code == 404


def test_somebody_new_signs_in_where_sign_up_is_open(
    cast: Cast, idp: IdentityProvider, settings: Any
) -> None:
    settings.AGUI_SIGNUP = "open"
    client = browser()
    assert go(client, idp)["Location"] == "/"
    assert is_signed_in(client)
    assert Membership.objects.get(user__username="dora").role == Role.OWNER
    assert go(browser(), idp)["Location"] == "/"
    assert User.objects.filter(email=DORA).count() == 1
    assert idp.paths == ["/metadata"], "it is kept"


@pytest.mark.parametrize("address", [DORA, "dora@example.org"])
def test_an_invited_person_needs_an_address_of_a_verified_domain(
    cast: Cast, idp: IdentityProvider, address: str
) -> None:
    idp.attributes |= {"email": [address], "http://schemas.auth0.com/email_verified": ["true"]}
    _, link = invitations.send(cast.team, address, Role.MEMBER, by="user:alice")
    path = link.removeprefix("http://127.0.0.1:8000")
    client = browser()
    client.get(path)
    answer = go(client, idp, next=path)
    assert is_signed_in(client) is (address == DORA)
    if address == DORA:
        assert answer["Location"] == path


def test_groups_give_roles_and_take_them_away(cast: Cast, idp: IdentityProvider) -> None:
    GroupRule.objects.create(team=cast.team, group="crew", role=Role.MEMBER, for_everyone=True)
    GroupRule.objects.create(team=cast.team, group="chiefs", role=Role.ADMIN, for_everyone=True)
    entra = "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups"
    for groups, role in [
        ({"groups": ["crew", "others"]}, Role.MEMBER),
        ({entra: ["crew", "chiefs"]}, Role.ADMIN),
        ({"http://schemas.microsoft.com/claims/groups.link": ["x"]}, Role.ADMIN),
        ({}, None),
    ]:
        idp.attributes = {"email": [DORA], "uid": ["dora"], **groups}
        client = browser()
        go(client, idp)
        assert is_signed_in(client)
        assert role_of_dora(cast.team) == role, groups


def test_a_domain_gives_a_role_if_it_is_verified(cast: Cast, idp: IdentityProvider) -> None:
    for domain in ("example.com", "example.org"):
        TeamDomain.objects.create(team=cast.team, domain=domain, role=Role.VIEWER)
    idp.attributes["email"] = ["dora@example.org"]
    stranger = browser()
    go(stranger, idp)
    assert not is_signed_in(stranger)
    idp.attributes["email"] = [DORA]
    go(browser(), idp)
    assert role_of_dora(cast.team) == Role.VIEWER


def test_a_person_whom_a_directory_made_signs_in(cast: Cast, idp: IdentityProvider) -> None:
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    text = keys.create_key(cast.team, "okta", Role.OWNER, scopes=[Scope.SCIM])[1]
    headers = {"authorization": f"Bearer {text}", "accept": "application/scim+json"}
    browser().post(
        "/scim/v2/Users", {"userName": DORA}, content_type="application/json", headers=headers
    )
    client = browser()
    go(client, idp)
    assert is_signed_in(client)
    assert User.objects.filter(email=DORA).count() == 1


@pytest.mark.parametrize("attributes", [{}, {"email": ["no address"]}, {"email": [""]}])
def test_a_person_without_an_address_is_asked_for_one(
    cast: Cast, idp: IdentityProvider, settings: Any, attributes: dict[str, list[str]]
) -> None:
    settings.AGUI_SIGNUP = "open"
    idp.attributes = attributes
    client = browser()
    assert go(client, idp)["Location"] == "/account/sso/signup/"
    assert not is_signed_in(client)


def test_metadata_that_are_away_are_said_and_kept_ones_are_used(
    cast: Cast, idp: IdentityProvider, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGUI_SIGNUP = "open"
    idp.away = True
    for _ in range(2):
        answer = browser().post(BEGIN)
        assert answer.status_code == 503
        assert "does not answer" in answer.content.decode()
    assert len(idp.paths) == 1, "a failed fetch is not repeated at once"
    idp.away = False
    monkeypatch.setattr(identity_provider, "FIRST", 0.0)
    away = away_of(browser())
    assert away.startswith(f"{idp.url}/sso?tenant=1&app=2&SAMLRequest=")
    idp.away = True
    monkeypatch.setattr(identity_provider, "FRESH", 0.0)
    fetches = len(idp.paths)
    client = browser()
    assert go(client, idp)["Location"] == "/"
    assert len(idp.paths) == fetches + 1, "a failed fetch is not repeated at once"
    monkeypatch.setattr(identity_provider, "LONGEST", 0.0)
    monkeypatch.setattr(identity_provider, "AGAIN", 0.0)
    assert browser().post(BEGIN).status_code == 503


def test_a_provider_that_hangs_holds_one_thread(
    idp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can begin a sign-in, and threads are for all teams."""
    monkeypatch.setattr(identity_provider, "WAIT", 0.0)
    idp.goes_on.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(identity_provider.known)
        try:
            assert idp.asked.wait(20)
            with pytest.raises(identity_provider.Lost):
                identity_provider.known()
            assert not first.done()
        finally:
            idp.goes_on.set()
        assert first.result() == identity_provider.known()
    assert idp.paths == ["/metadata"]


def test_metadata_come_through_the_guard(cast: Cast, idp: IdentityProvider, settings: Any) -> None:
    settings.AGUI_OUTBOUND_ALLOW = []
    assert browser().post(BEGIN).status_code == 503
    assert idp.paths == []


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda text: text.replace("<IDPSSODescriptor", "<SPSSODescriptor"),
        lambda text: text.replace("HTTP-Redirect", "HTTP-POST"),
        lambda text: text.replace('use="signing"', 'use="encryption"'),
        lambda text: text.replace(" entityID", ' validUntil="2020-01-01T00:00:00Z" entityID'),
        lambda text: text.replace('Location="http:', 'Location="javascript:'),
        lambda text: text.replace('<?xml version="1.0"?>', '<!DOCTYPE x [<!ENTITY e "e">]>'),
        lambda text: text[:200],
        lambda text: "",
    ],
)  # fmt: skip
def test_metadata_that_we_cannot_use_are_refused(
    idp: IdentityProvider, spoilt: Any, tmp_path: Any, settings: Any
) -> None:
    file = tmp_path / "metadata.xml"
    settings.AGUI_SAML_METADATA_URL, settings.AGUI_SAML_METADATA_FILE = "", str(file)
    file.write_text(idp.metadata())
    assert identity_provider.known().entity_id == idp.entity_id
    file.write_text(spoilt(idp.metadata()))
    with pytest.raises(identity_provider.Lost):
        identity_provider.known()
