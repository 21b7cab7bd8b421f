"""This host as a service provider: its addresses, its requests, and how strictly it judges."""

from html import escape
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from onelogin.saml2.authn_request import OneLogin_Saml2_Authn_Request
from onelogin.saml2.settings import OneLogin_Saml2_Settings

from agui_host.dashboard.account.saml import identity_provider
from agui_host.dashboard.account.saml.identity_provider import IdentityProvider
from agui_host.links import absolute

POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"


def consumer() -> str:
    """Where the provider's responses arrive, whatever Host a request names."""
    return absolute(reverse("saml_acs"))


def entity_id() -> str:
    """This host's name at the provider."""
    return absolute(reverse("saml_metadata"))


def settings_for(provider: IdentityProvider | None) -> OneLogin_Saml2_Settings:
    """The library's settings; without a provider, those that our own metadata need."""
    config: dict[str, Any] = {
        "strict": True,
        "security": {
            "wantAssertionsSigned": True,
            "wantNameId": False,
            "wantAttributeStatement": False,
            "allowRepeatAttributeName": True,
            "rejectDeprecatedAlgorithm": True,
            "requestedAuthnContext": False,
            "allowSingleLabelDomains": True,
        },
        "sp": {
            "entityId": entity_id(),
            "assertionConsumerService": {"url": consumer(), "binding": POST},
        },
    }
    if provider is not None:
        config["idp"] = {
            "entityId": provider.entity_id,
            # The library writes it into its XML unchanged.
            "singleSignOnService": {"url": escape(provider.sso_url)},
            "x509certMulti": {"signing": list(provider.certificates)},
        }
    return OneLogin_Saml2_Settings(config, sp_validation_only=provider is None)


def described() -> bytes:
    """Our metadata."""
    text = settings_for(None).get_sp_metadata()
    return text if isinstance(text, bytes) else str(text).encode()


def asked() -> tuple[str, str]:
    """The id of a new request, and the address at the provider that takes it.

    RelayState is this id and never an address, so that nobody can choose where people go next.
    Raises identity_provider.Lost.
    """
    provider = identity_provider.known()
    request = OneLogin_Saml2_Authn_Request(settings_for(provider), set_nameid_policy=False)
    query = urlencode({"SAMLRequest": request.get_request(), "RelayState": request.get_id()})
    mark = "&" if "?" in provider.sso_url else "?"
    return request.get_id(), f"{provider.sso_url}{mark}{query}"
