"""The cast, and the browsers they sit at."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from allauth.socialaccount.providers import registry
from django.core.cache import cache
from django.test import Client

from agui_host.dashboard.account.saml import identity_provider
from agui_host.dashboard.account.saml.provider import HostSAMLProvider
from tests.cast import Actor, cast
from tests.dashboard.provider import CLIENT, SECRET, Provider
from tests.dashboard.saml.idp import IdentityProvider

__all__ = ["cast"]

Browse = Callable[[Actor], Client]
SURE = {"confirmed": "yes"}
"""What a form posts that has asked whether something is to be destroyed."""


@pytest.fixture
def browse() -> Browse:
    """A browser in which this person has signed in."""

    def browse(actor: Actor) -> Client:
        client = Client(headers={"accept": "text/html"})
        client.force_login(actor.user)
        return client

    return browse


@pytest.fixture
def no_attempts_yet(db: None, settings: Any) -> None:
    """Nobody has tried to sign in before; passwords are hashed fast, not well."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider of OpenID Connect, which no host knows."""
    with Provider() as provider:
        yield provider


@pytest.fixture
def configured(provider: Provider, settings: Any) -> Provider:
    """The provider, as AGUI_OIDC_… would name it."""
    app = {
        "provider_id": "sso", "name": "Acme account", "client_id": CLIENT, "secret": SECRET,
        "settings": {"server_url": provider.url},
    }  # fmt: skip
    both = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}
    settings.SOCIALACCOUNT_PROVIDERS = both
    return provider


@pytest.fixture
def idp(settings: Any) -> Iterator[IdentityProvider]:
    """A provider of SAML, configured; its addresses of example.com count as verified."""
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
