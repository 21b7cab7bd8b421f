"""Judges a response of the identity provider, by python3-saml and by what that leaves out.

It checks signature, issuer, times and destination, but an assertion can lack its audience, the
recipient and the request it answers, and a signature can name transforms that take for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from lxml import etree
from onelogin.saml2.errors import OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError
from onelogin.saml2.response import OneLogin_Saml2_Response

from agui_host.dashboard.account.saml import identity_provider, service

MOST_CHARACTERS = 400_000
"""Of a response; one with a thousand groups has 150,000."""
SPACES = {
    "ds": "http://www.w3.org/2000/09/xmldsig#",
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
}
CANONICAL = "http://www.w3.org/2001/10/xml-exc-c14n#"
TRANSFORMS = {CANONICAL, f"{SPACES['ds']}enveloped-signature"}
RSA, ECDSA = (f"http://www.w3.org/2001/04/xmldsig-more#{kind}-sha" for kind in ("rsa", "ecdsa"))
SIGNATURES = {f"{kind}{bits}" for kind in (RSA, ECDSA) for bits in (256, 384, 512)}
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"


class Refused(Exception):
    """The response does not prove that its person has just signed in for us."""


@dataclass(frozen=True)
class Assertion:
    """A signed statement about a person; its methods have the names that django-allauth calls."""

    name: str
    form: str
    attributes: Mapping[str, Sequence[str]]

    def get_nameid(self) -> str:
        """The person's name at the provider."""
        return self.name

    def get_nameid_format(self) -> str:
        """The sort of that name, a URN."""
        return self.form

    def get_attributes(self) -> Mapping[str, Sequence[str]]:
        """All values, by attribute."""
        return self.attributes


def judged(posted: str, request_id: str) -> Assertion:
    """The assertion that answers our request. Raises Refused and identity_provider.Lost."""
    provider = identity_provider.known()
    place = urlsplit(service.consumer())
    received: dict[str, object] = {
        "https": "on" if place.scheme == "https" else "off",
        "http_host": place.netloc,
        "script_name": place.path,
        "request_uri": place.path,
        "get_data": {},
        "post_data": {},
    }
    if len(posted) > MOST_CHARACTERS:
        raise Refused("it is too long")
    try:
        response = OneLogin_Saml2_Response(service.settings_for(provider), posted)
        document = response.get_xml_document()
        _check_signatures(document)
        response.is_valid(received, request_id, raise_exceptions=True)
        _check_binding(document, request_id)
        name = response.get_nameid_data()
        attributes = {
            key: [value for value in values if isinstance(value, str)]
            for key, values in response.get_attributes().items()
        }
    except (OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError) as error:
        raise Refused(str(error)) from None
    # Of base64, of the parser, and of odd times.
    except (ValueError, SyntaxError, TypeError, etree.LxmlError) as error:
        raise Refused(f"it cannot be read: {error}") from None
    return Assertion(name.get("Value") or "", name.get("Format") or "", attributes)


def _check_signatures(document: "etree._Element") -> None:
    """Only the form that the standard allows: of the root or its assertion, over the whole of it.

    xmlsec applies a reference's transforms before it knows who wrote them. Raises Refused.
    """
    signatures = document.xpath("//ds:Signature", namespaces=SPACES)
    holders = [document, *document.xpath("/*/saml:Assertion", namespaces=SPACES)]
    if len(signatures) > 2 or len(holders) != 2:
        raise Refused("it must have one assertion, which is signed")
    for signature in signatures:
        holder = signature.getparent()
        references = signature.xpath(".//ds:Reference", namespaces=SPACES)
        covers = [reference.get("URI") for reference in references]
        if holder not in holders or covers != [f"#{holder.get('ID')}"]:
            raise Refused("a signature does not cover the element that contains it")
        used = signature.xpath(".//ds:Transform/@Algorithm", namespaces=SPACES)
        canonical = signature.xpath(".//ds:CanonicalizationMethod/@Algorithm", namespaces=SPACES)
        methods = signature.xpath(".//ds:SignatureMethod/@Algorithm", namespaces=SPACES)
        if len(used) > 2 or set(used) - TRANSFORMS or canonical != [CANONICAL]:
            raise Refused("a signature has other transforms than SAML allows")
        if set(methods) - SIGNATURES:
            raise Refused("a signature has another method than RSA or ECDSA with SHA-2")


def _check_binding(document: "etree._Element", request_id: str) -> None:
    """The signed assertion is for us and for this request, by a moment. Raises Refused."""
    assertion = document.xpath("/*/saml:Assertion", namespaces=SPACES)[0]
    restrictions = assertion.xpath("saml:Conditions/saml:AudienceRestriction", namespaces=SPACES)
    for restriction in restrictions:
        audiences = restriction.xpath("saml:Audience/text()", namespaces=SPACES)
        if service.entity_id() not in [each.strip() for each in audiences]:
            raise Refused("it is for another audience")
    if not restrictions:
        raise Refused("it names no audience")
    path = "saml:Subject/saml:SubjectConfirmation[@Method=$method]/saml:SubjectConfirmationData"
    confirmations = assertion.xpath(path, namespaces=SPACES, method=BEARER)
    for each in confirmations:
        if each.get("InResponseTo") != request_id:
            raise Refused("it answers another request")
        if each.get("Recipient") != service.consumer() or not each.get("NotOnOrAfter"):
            raise Refused("it names another recipient, or no end")
    if document.get("InResponseTo") != request_id or not confirmations:
        raise Refused("it answers no request")
