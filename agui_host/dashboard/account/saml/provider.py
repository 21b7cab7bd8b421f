"""django-allauth's provider for SAML, with our addresses and attributes."""

from typing import Any
from urllib.parse import urlencode

from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

ELSEWHERE = "http://schemas.microsoft.com/claims/groups.link"
"""What Entra ID sends in place of more than 150 groups."""
IDS = [
    "urn:oasis:names:tc:SAML:attribute:subject-id",
    "urn:oasis:names:tc:SAML:attribute:pairwise-id",
]
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
LONGEST_NAME = 191
"""Characters of a person's name at the provider, as the library stores it."""


class NoLastingName(Exception):
    """The assertion has no name by which the person is known next time."""


class HostSAMLProvider(SAMLProvider):  # type: ignore[misc]
    """Its responses are ``responses.Assertion``."""

    def __init__(self, request: HttpRequest, app: Any = None) -> None:
        super().__init__(request, app=app)
        # Without the library's ``email_verified``: an assertion does not verify addresses.
        app.settings["attribute_mapping"] = {
            "uid": IDS,
            "email": settings.AGUI_SAML_EMAIL,
            "username": settings.AGUI_SAML_USERNAME,
        }

    def get_login_url(self, request: HttpRequest, **kwargs: Any) -> str:
        """Where the button posts to."""
        return f"{reverse('saml_login')}{'?' if kwargs else ''}{urlencode(kwargs)}"

    def redirect(
        self,
        request: HttpRequest,
        process: str,
        next_url: str | None = None,
        data: Any = None,
        **kwargs: Any,
    ) -> HttpResponseRedirect:
        """To the identity provider, with a request that this session stores for ten minutes.

        Raises identity_provider.Lost.
        """
        from agui_host.dashboard.account.saml import service

        request_id, away = service.asked()
        self.stash_redirect_state(request, process, next_url, data, state_id=request_id, **kwargs)
        return HttpResponseRedirect(away)

    def extract_uid(self, data: Any) -> str:
        """The person's lasting name at the provider. Raises NoLastingName."""
        uid = super().extract_uid(data)
        fleeting = uid == data.get_nameid() and data.get_nameid_format() == TRANSIENT
        if not uid or fleeting or len(uid) > LONGEST_NAME:
            raise NoLastingName
        return str(uid)

    def extract_extra_data(self, data: Any) -> dict[str, Any]:
        """What ``teams.directory.sign_in.claims_of`` reads, and no other attribute."""
        attributes = data.get_attributes()
        named = [name for name in settings.AGUI_SAML_GROUPS if name in attributes]
        groups = attributes[named[0]] if named else None
        return {"saml": {"groups": groups, "groups_elsewhere": ELSEWHERE in attributes}}
