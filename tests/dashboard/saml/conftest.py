"""SAML as AGUI_SAML_… would configure it."""

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.socialaccount.providers import registry

from agui_host.dashboard.account.saml import identity_provider
from agui_host.dashboard.account.saml.provider import HostSAMLProvider
from tests.dashboard.saml.idp import IdentityProvider


@pytest.fixture
def idp(settings: Any) -> Iterator[IdentityProvider]:
    """A provider whose addresses of example.com count as verified."""
    app = {
        "provider_id": "saml", "name": "Acme account", "client_id": "saml",
        "settings": {"verified_email": ["example.com"]},
    }  # fmt: skip
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": []}, "saml": {"APPS": [app]}}
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    registry.load()
    registry.register(HostSAMLProvider)
    identity_provider.forget()
    with IdentityProvider() as provider:
        settings.AGUI_SAML_METADATA_URL = f"{provider.url}/metadata"
        yield provider
    del registry.provider_map["saml"]
