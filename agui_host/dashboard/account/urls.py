"""The pages of a person's own account: the pages of django-allauth that we use, and no others."""

from collections.abc import Callable
from functools import wraps

import requests
import structlog
from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from allauth.socialaccount import views as social
from allauth.socialaccount.providers.openid_connect import views as oidc
from csp.decorators import csp_update
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path

from agui_host.dashboard.account import personal, sessions
from agui_host.dashboard.account.leaving import left_by_page
from agui_host.dashboard.account.saml import views as saml
from agui_host.dashboard.pages import posted_from, refused, uncached
from agui_host.errors import Unavailable

log = structlog.get_logger(__name__)


def away_is_said(view: Callable[[HttpRequest, str], HttpResponse]) -> Callable[..., HttpResponse]:
    """Show an error page if a provider does not answer, or not sensibly."""

    @wraps(view)
    def forgiving(request: HttpRequest, provider_id: str) -> HttpResponse:
        try:
            return view(request, provider_id)
        except requests.RequestException as error:
            log.warning("oidc.lost", error=repr(error))
            return refused(request, Unavailable("The sign-in service does not answer."))

    return forgiving


@away_is_said
def leave(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect to the identity provider through a page: ``form-action 'self'`` covers redirects."""
    return left_by_page(request, oidc.login(request, provider_id))


# A secret is shown as a QR code, which is a ``data:`` image.
activate = csp_update({"img-src": ["data:"]})(totp.activate_totp)

MFA, SSO = "account/mfa/", "account/sso/"
pages: dict[str, tuple[str, object]] = {
    "account_login": ("login/", account.login),
    "account_logout": ("logout/", posted_from("home")(LogoutView.as_view())),
    "account_signup": ("signup/", account.signup),
    "account_inactive": ("account/inactive/", account.account_inactive),
    "account_reauthenticate": ("account/reauthenticate/", account.reauthenticate),
    "account_email": ("account/email/", account.email),
    "account_email_verification_sent": ("account/verify/", account.email_verification_sent),
    "account_change_password": ("account/password/", account.password_change),
    "account_data": ("account/data/", personal.page),
    "account_data_export": ("account/data/export", personal.export),
    "account_sessions": ("account/sessions/", sessions.listed),
    "account_session_end": ("account/sessions/<int:session_id>/end", sessions.end),
    "account_set_password": ("account/password/set/", account.password_set),
    "account_reset_password": ("account/password/reset/", account.password_reset),
    "account_reset_password_done": ("account/password/reset/sent/", account.password_reset_done),
    "account_reset_password_from_key_done": (
        "account/password/reset/done/",
        account.password_reset_from_key_done,
    ),
    "mfa_index": (MFA, mfa.index),
    "mfa_authenticate": (f"{MFA}authenticate/", mfa.authenticate),
    "mfa_reauthenticate": (f"{MFA}reauthenticate/", mfa.reauthenticate),
    "mfa_activate_totp": (f"{MFA}totp/activate/", activate),
    "mfa_deactivate_totp": (f"{MFA}totp/deactivate/", totp.deactivate_totp),
    "mfa_list_webauthn": (f"{MFA}keys/", webauthn.list_webauthn),
    "mfa_add_webauthn": (f"{MFA}keys/add/", webauthn.add_webauthn),
    "mfa_edit_webauthn": (f"{MFA}keys/<int:pk>/edit/", webauthn.edit_webauthn),
    "mfa_remove_webauthn": (f"{MFA}keys/<int:pk>/remove/", webauthn.remove_webauthn),
    "mfa_reauthenticate_webauthn": (f"{MFA}keys/reauthenticate/", webauthn.reauthenticate_webauthn),
    "mfa_login_webauthn": (f"{MFA}keys/login/", webauthn.login_webauthn),
    "mfa_view_recovery_codes": (f"{MFA}codes/", codes.view_recovery_codes),
    "mfa_generate_recovery_codes": (f"{MFA}codes/generate/", codes.generate_recovery_codes),
    "mfa_download_recovery_codes": (f"{MFA}codes/download/", codes.download_recovery_codes),
    "socialaccount_connections": (SSO, social.connections),
    "socialaccount_signup": (f"{SSO}signup/", social.signup),
    "socialaccount_login_cancelled": (f"{SSO}cancelled/", social.login_cancelled),
    "socialaccount_login_error": (f"{SSO}error/", social.login_error),
    "saml_login": (f"{SSO}saml/login/", saml.login),
    "saml_acs": (f"{SSO}saml/acs/", saml.consume),
    "saml_metadata": (f"{SSO}saml/metadata/", saml.metadata),
    "openid_connect_login": (f"{SSO}<slug:provider_id>/login/", leave),
    "openid_connect_callback": (f"{SSO}<slug:provider_id>/callback/", away_is_said(oidc.callback)),
}
urlpatterns: list[URLPattern] = [
    path(route, uncached(view), name=name)  # type: ignore[arg-type]
    for name, (route, view) in pages.items()
]
urlpatterns += [
    re_path(
        r"^account/password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$",
        uncached(account.password_reset_from_key),
        name="account_reset_password_from_key",
    )
]
