"""Responses that prove nothing sign nobody in, and each is refused for its own reason."""

import base64
import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import xmlsec
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from lxml import etree
from structlog.testing import capture_logs

from tests.cast import Cast
from tests.dashboard.saml.idp import DS, A, IdentityProvider, Key, P, Response
from tests.dashboard.saml.way import BEGIN, CONSUMER, away_of, bring, go
from tests.dashboard.signing import browser, is_signed_in

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
MINUTES = timedelta(minutes=1)
XPATH = "http://www.w3.org/TR/1999/REC-xpath-19991116"


@pytest.fixture(autouse=True)
def open_to_all(settings: Any) -> None:
    """Only the response can be the reason."""
    settings.AGUI_SIGNUP = "open"


def is_refused(client: Any, answer: Any) -> bool:
    nobody = not is_signed_in(client) and not User.objects.filter(username="dora").exists()
    return bool(answer.status_code == 401 and nobody)


def setting(**values: Any) -> Callable[[Response], None]:
    def spoil(response: Response) -> None:
        for name, value in values.items():
            setattr(response, name, value)

    return spoil


SPOILT = {
    "unsigned": (setting(signs=()), "must have one assertion|not signed"),
    "only the response is signed": (setting(signs=("Response",)), "not signed"),
    "another audience": (setting(audience="https://other.example.com"), "not a valid audience"),
    "no audience": (setting(audience=None), "names no audience"),
    "another issuer": (setting(issuer="https://other.example.com"), "issuer"),
    "expired": (setting(ends=-6 * MINUTES, begins=-9 * MINUTES), "expired"),
    "not yet": (setting(begins=6 * MINUTES), "not yet valid"),
    "its proof expired": (setting(proven_until=-MINUTES), "SubjectConfirmation"),
    "no end": (setting(proven_until=None), "no end"),
    "another recipient": (setting(recipient="https://other.example.com/acs"), "SubjectConf"),
    "a longer recipient": (
        setting(recipient="https://x.example/?http://127.0.0.1:8000/account/sso/saml/acs/"),
        "another recipient",
    ),
    "no recipient": (setting(recipient=None), "another recipient"),
    "answers another request": (setting(answered="_other", id="_other"), "does not match"),
    "its assertion answers another": (setting(answered="_other"), "SubjectConfirmation"),
    "its assertion answers none": (setting(answered=None), "answers another request"),
    "the provider began": (setting(answered=None, id=None), "answers another request"),
    "cancelled": (setting(status="AuthnFailed"), "not Success"),
    "SHA-1": (setting(method=xmlsec.Transform.RSA_SHA1), "SHA-2"),
    "a DTD": (setting(prologue='<!DOCTYPE x [<!ENTITY e "e">]>'), "DTDForbidden|cannot be read"),
    "a name for once": (
        setting(form="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"), "no lasting name",
    ),
    "a name too long": (setting(name="x" * 192), "no lasting name"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_response_is_refused(cast: Cast, idp: IdentityProvider, case: str) -> None:
    idp.spoil, reason = SPOILT[case]
    client = browser()
    with capture_logs() as logs:
        answer = go(client, idp)
    refusals = [line["reason"] for line in logs if line["event"] == "saml.refused"]
    assert len(refusals) == 1
    assert any(part in refusals[0] for part in reason.split("|")), refusals
    assert is_refused(client, answer)
    idp.spoil = setting()
    assert go(client, idp)["Location"] == "/", "only the spoilt part was wrong"


def stranger(tree: Any) -> Any:
    """An assertion about somebody else, without a signature."""
    evil = copy.deepcopy(tree.find(f"{{{A}}}Assertion"))
    evil.remove(evil.find(f"{{{DS}}}Signature"))
    evil.set("ID", "_evil")
    evil.find(f".//{{{A}}}NameID").text = "admin"
    return evil


def beside(tree: Any) -> Any:
    tree.insert(2, stranger(tree))
    return tree


def inside_the_stranger(tree: Any) -> Any:
    evil, good = stranger(tree), tree.find(f"{{{A}}}Assertion")
    tree.replace(good, evil)
    evil.insert(1, good)
    return tree


def in_the_signature(tree: Any) -> Any:
    evil, good = stranger(tree), tree.find(f"{{{A}}}Assertion")
    signature = good.find(f"{{{DS}}}Signature")
    tree.replace(good, evil)
    evil.insert(1, signature)
    etree.SubElement(signature, f"{{{DS}}}Object").append(good)
    return tree


def same_id(tree: Any) -> Any:
    evil = stranger(tree)
    evil.set("ID", "_a")
    tree.insert(2, evil)
    return tree


def as_extension(tree: Any) -> Any:
    evil, good = stranger(tree), tree.find(f"{{{A}}}Assertion")
    signature = copy.deepcopy(good.find(f"{{{DS}}}Signature"))
    tree.replace(good, evil)
    evil.insert(1, signature)
    extensions = etree.Element(f"{{{P}}}Extensions")
    extensions.append(good)
    tree.insert(1, extensions)
    return tree


def changed(tree: Any) -> Any:
    tree.find(f".//{{{A}}}AttributeValue").text = "eve@example.com"
    return tree


def whole_document(tree: Any) -> Any:
    tree.find(f".//{{{DS}}}Reference").set("URI", "")
    return tree


def costly(tree: Any) -> Any:
    transforms = tree.find(f".//{{{DS}}}Transforms")
    transform = etree.SubElement(transforms, f"{{{DS}}}Transform", Algorithm=XPATH)
    etree.SubElement(transform, f"{{{DS}}}XPath").text = "count(//*[count(//*)>0])>0"
    return tree


@pytest.mark.parametrize(
    "forged",
    [
        beside, inside_the_stranger, in_the_signature, same_id, as_extension, changed,
        whole_document, costly,
    ],
)  # fmt: skip
def test_a_signature_counts_for_the_element_that_it_covers(
    cast: Cast, idp: IdentityProvider, forged: Callable[[Any], Any]
) -> None:
    idp.after = forged
    client = browser()
    assert is_refused(client, go(client, idp))
    assert not User.objects.filter(email__startswith="eve").exists()


def test_a_key_that_the_metadata_do_not_name_signs_nothing(
    cast: Cast, idp: IdentityProvider
) -> None:
    client = browser()
    away = away_of(client)
    idp.key = Key()
    assert is_refused(client, bring(client, idp.answers(away)[1]))


@pytest.mark.parametrize(
    "text", [b"", b"no xml", b"<a>" * 300, b"<Response/>", b"\xff\xfe", b"x" * 400_000]
)
def test_odd_responses_are_refused(cast: Cast, idp: IdentityProvider, text: bytes) -> None:
    client = browser()
    fields = idp.answers(away_of(client))[1]
    fields["SAMLResponse"] = base64.b64encode(text).decode()
    assert is_refused(client, bring(client, fields))
    again = idp.answers(away_of(client))[1]
    assert is_refused(client, bring(client, {**again, "SAMLResponse": "é%%"}))


def test_the_same_response_opens_nothing_twice(cast: Cast, idp: IdentityProvider) -> None:
    client = browser()
    fields = idp.answers(away_of(client))[1]
    assert bring(client, fields)["Location"] == "/"
    for other in (client, browser()):
        assert bring(other, fields).status_code == 401


def test_a_response_for_another_browser_opens_nothing(cast: Cast, idp: IdentityProvider) -> None:
    """An attacker can neither use a stolen response nor sign somebody in as themselves."""
    fields = idp.answers(away_of(browser()))[1]
    for client in (browser(), asked := browser()):
        if client is asked:
            away_of(client)
        assert is_refused(client, bring(client, fields))
    mine = idp.answers(away_of(asked))[1]
    swapped = {**fields, "RelayState": mine["RelayState"]}
    assert is_refused(asked, bring(asked, swapped))


@pytest.mark.parametrize("relay", ["https://evil.example.com/", "//evil.example.com", "", "/team/"])
def test_relay_state_is_no_address(cast: Cast, idp: IdentityProvider, relay: str) -> None:
    idp.relay = relay
    client = browser()
    answer = go(client, idp)
    assert "Location" not in answer.headers
    assert is_refused(client, answer)


def test_a_foreign_next_page_is_not_followed(cast: Cast, idp: IdentityProvider) -> None:
    assert go(browser(), idp, next="https://evil.example.com/")["Location"] == "/"


def test_a_stranger_stores_nothing_and_no_xml_is_parsed(
    cast: Cast, idp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agui_host.dashboard.account.saml import responses

    monkeypatch.setattr(responses, "judged", lambda *values: pytest.fail("it was parsed"))
    before = Session.objects.count()
    client = browser()
    fields = {"SAMLResponse": base64.b64encode(b"<a/>").decode(), "RelayState": "ONELOGIN_x"}
    assert bring(client, fields).status_code == 401
    assert Session.objects.count() == before
    assert idp.paths == []


def test_a_get_leads_to_the_sign_in_page(cast: Cast, idp: IdentityProvider) -> None:
    assert browser().get(CONSUMER)["Location"] == "/login/"
    assert "Acme account" in browser().get(BEGIN).content.decode()
