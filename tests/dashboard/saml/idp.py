"""A small identity provider on loopback: metadata, and signed responses that a test can spoil."""

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from html import escape
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlsplit

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from lxml import etree

from tests.dashboard.provider import Served

P, A = "urn:oasis:names:tc:SAML:2.0:protocol", "urn:oasis:names:tc:SAML:2.0:assertion"
DS = "http://www.w3.org/2000/09/xmldsig#"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
Tree = Any


class Key:
    """A key and its certificate."""

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp")])
        now = datetime.now(UTC)
        certificate = x509.CertificateBuilder(
            issuer_name=name, subject_name=name, public_key=key.public_key(), serial_number=1,
            not_valid_before=now - timedelta(1), not_valid_after=now + timedelta(9),
        ).sign(key, hashes.SHA256())  # fmt: skip
        self.pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        der = certificate.public_bytes(serialization.Encoding.DER)
        self.certificate = base64.b64encode(der).decode()


usual_key = cache(Key)


@dataclass
class Response:
    """The parts of one response; None leaves a part out."""

    id: str | None
    consumer: str
    audience: str | None
    issuer: str
    name: str = "248289761001"
    form: str = PERSISTENT
    attributes: dict[str, list[str]] = field(default_factory=dict)
    begins: timedelta = timedelta(minutes=-1)
    ends: timedelta = timedelta(minutes=5)
    proven_until: timedelta | None = timedelta(minutes=5)
    answered: str | None = None
    recipient: str | None = None
    signs: tuple[str, ...] = ("Assertion",)
    method: Any = xmlsec.Transform.RSA_SHA256
    prologue: str = ""
    status: str = "Success"

    def __post_init__(self) -> None:
        self.answered, self.recipient = self.id, self.consumer


class IdentityProvider(Served):
    """Signs everybody in as ``attributes`` have it; ``spoil`` changes a response before signing."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.key = usual_key()
        self.attributes: dict[str, list[str]] = {"email": ["dora@example.com"], "uid": ["dora"]}
        self.spoil: Callable[[Response], None] = lambda response: None
        self.after: Callable[[Tree], Tree] = lambda tree: tree
        self.relay: str | None = None
        self.away = False
        self.asked, self.goes_on = Event(), Event()
        self.goes_on.set()
        super().__init__(_handler(self), host)
        self.entity_id = f"{self.url}/metadata?a=1&b=2"

    def metadata(self, more: str = "") -> str:
        return f"""<?xml version="1.0"?>
<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="{DS}" {more}
 entityID="{escape(self.entity_id)}">
 <IDPSSODescriptor protocolSupportEnumeration="{P}" WantAuthnRequestsSigned="true">
  <KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data>
   <ds:X509Certificate>{self.key.certificate}</ds:X509Certificate>
  </ds:X509Data></ds:KeyInfo></KeyDescriptor>
  <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
   Location="{self.url}/sso?tenant=1&amp;app=2"/>
 </IDPSSODescriptor>
</EntityDescriptor>"""

    def answers(self, away: str) -> tuple[str, dict[str, str]]:
        """Where the form of the provider's page posts to, and its fields."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(away).query).items()}
        request = etree.fromstring(zlib.decompress(base64.b64decode(query["SAMLRequest"]), -15))
        assert request.get("Destination") == away.split("&SAMLRequest")[0]
        consumer = request.get("AssertionConsumerServiceURL")
        issuer = request.findtext(f"{{{A}}}Issuer")
        assert consumer
        assert issuer
        response = Response(
            request.get("ID"), consumer, issuer, self.entity_id, attributes=self.attributes
        )
        self.spoil(response)
        text = etree.tostring(self.after(self.signed(response)))
        text = response.prologue.encode() + text
        relay = query["RelayState"] if self.relay is None else self.relay
        return consumer, {"SAMLResponse": base64.b64encode(text).decode(), "RelayState": relay}

    def signed(self, response: Response) -> Tree:
        tree = etree.fromstring(_text(response))
        xmlsec.tree.add_ids(tree, ["ID"])
        for name in response.signs:
            node = tree if name == "Response" else tree.find(f"{{{A}}}{name}")
            assert node is not None
            self._sign(node, response)
        # lxml does not find the elements that xmlsec added.
        return etree.fromstring(etree.tostring(tree))

    def _sign(self, node: Tree, response: Response) -> None:
        signature = xmlsec.template.create(
            node, xmlsec.Transform.EXCL_C14N, response.method, ns="ds"
        )
        node.insert(1, signature)
        reference = xmlsec.template.add_reference(
            signature, xmlsec.Transform.SHA256, uri=f"#{node.get('ID')}"
        )
        xmlsec.template.add_transform(reference, xmlsec.Transform.ENVELOPED)
        xmlsec.template.add_transform(reference, xmlsec.Transform.EXCL_C14N)
        context = xmlsec.SignatureContext()
        context.key = xmlsec.Key.from_memory(self.key.pem, xmlsec.KeyFormat.PEM)
        context.sign(signature)


def _text(response: Response) -> str:
    now = datetime.now(UTC)

    def at(span: timedelta) -> str:
        return (now + span).strftime("%Y-%m-%dT%H:%M:%SZ")

    def attribute(name: str, value: str | None) -> str:
        return "" if value is None else f'{name}="{escape(value)}"'

    attributes = "".join(
        f'<saml:Attribute Name="{escape(name)}">'
        + "".join(f"<saml:AttributeValue>{escape(value)}</saml:AttributeValue>" for value in values)
        + "</saml:Attribute>"
        for name, values in response.attributes.items()
    )
    audience = (
        ""
        if response.audience is None
        else f"<saml:AudienceRestriction><saml:Audience>{escape(response.audience)}"
        "</saml:Audience></saml:AudienceRestriction>"
    )
    until = None if response.proven_until is None else at(response.proven_until)
    confirmed = " ".join(
        (
            attribute("InResponseTo", response.answered),
            attribute("Recipient", response.recipient),
            attribute("NotOnOrAfter", until),
        )
    )
    return f"""<samlp:Response xmlns:samlp="{P}" xmlns:saml="{A}" ID="_r" Version="2.0"
 {attribute("InResponseTo", response.id)} IssueInstant="{at(timedelta())}"
 Destination="{response.consumer}"><saml:Issuer>{escape(response.issuer)}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:{response.status}"/>
</samlp:Status><saml:Assertion ID="_a" Version="2.0" IssueInstant="{at(timedelta())}"
><saml:Issuer>{escape(response.issuer)}</saml:Issuer>
<saml:Subject><saml:NameID Format="{response.form}">{escape(response.name)}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
<saml:SubjectConfirmationData {confirmed}/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="{at(response.begins)}" NotOnOrAfter="{at(response.ends)}"
>{audience}</saml:Conditions>
<saml:AuthnStatement AuthnInstant="{at(timedelta())}"><saml:AuthnContext>
<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>
</saml:AuthnContext></saml:AuthnStatement>
{attributes and f"<saml:AttributeStatement>{attributes}</saml:AttributeStatement>"}
</saml:Assertion></samlp:Response>"""


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.paths.append(urlsplit(self.path).path)
            provider.asked.set()
            provider.goes_on.wait(20)
            if provider.away:
                return self.answer(503, "text/plain", "away")
            if self.path.startswith("/sso?"):
                consumer, fields = provider.answers(f"{provider.url}{self.path}")
                inputs = "".join(
                    f'<input type="hidden" name="{name}" value="{escape(value)}">'
                    for name, value in fields.items()
                )
                form = f'<form method="post" action="{escape(consumer)}">{inputs}</form>'
                page = f"<!doctype html><title>idp</title>{form}"
                return self.answer(
                    200, "text/html", f"{page}<script>document.forms[0].submit()</script>"
                )
            return self.answer(200, "application/xml", provider.metadata())

        def answer(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
