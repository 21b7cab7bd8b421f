"""How people sign in: by django-allauth; ``dashboard/account/adapters.py`` makes our decisions."""

from typing import Any

from agui_project import validators
from agui_project.settings.host import env

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AGUI_INVITATION_COOLDOWN: int = env.number("AGUI_INVITATION_COOLDOWN", default=600, most=10**9)
AGUI_INVITATIONS_PER_DAY: int = env.number("AGUI_INVITATIONS_PER_DAY", default=1_000)
AGUI_SIGNUP: str = env.choice("AGUI_SIGNUP", default="invited", among=("open", "invited", "closed"))
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_ADAPTER = "agui_host.dashboard.account.adapters.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "agui_host.dashboard.forms.LoginForm",
    "signup": "agui_host.dashboard.forms.SignupForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# agui_host/dashboard/account/attempts.py; allauth's own login_failed remains for codes.
ACCOUNT_RATE_LIMITS = {
    "login_failed_from": "10/m/ip",
    "login_failed_here": "5/5m/key",
    "login_failed_anywhere": "100/5m/key",
    "unsent": "10/m/ip,600/h/key",
}
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_SESSION_REMEMBER = True
MFA_ADAPTER = "agui_host.dashboard.account.second_factor.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "AG-UI run host"
SOCIALACCOUNT_ADAPTER = "agui_host.dashboard.account.adapters.SocialAdapter"
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
AGUI_OIDC_URL: str = env.text("AGUI_OIDC_URL", rule=validators.http_url)
AGUI_OIDC_NAME: str = env.text("AGUI_OIDC_NAME", default="Single sign-on")
AGUI_OIDC_CLIENT_ID: str = env.text("AGUI_OIDC_CLIENT_ID")
AGUI_OIDC_CLIENT_SECRET: str = env.text("AGUI_OIDC_CLIENT_SECRET", secret=True)
AGUI_OIDC_SCOPES: list[str] = env.entries(
    "AGUI_OIDC_SCOPES", default=["openid", "profile", "email"], rule=validators.scope
)
AGUI_OIDC_GROUPS: str = env.text("AGUI_OIDC_GROUPS", default="groups")
AGUI_OIDC_VERIFIED_DOMAINS: list[str] = env.entries(
    "AGUI_OIDC_VERIFIED_DOMAINS", default=[], rule=validators.mail_domain
)
if AGUI_OIDC_URL and not AGUI_OIDC_CLIENT_ID:
    env.problem(
        "AGUI_OIDC_CLIENT_ID", "it is empty, and AGUI_OIDC_URL needs it; set both or neither"
    )
AGUI_SAML_METADATA_URL: str = env.text("AGUI_SAML_METADATA_URL", rule=validators.saml_metadata_url)
AGUI_SAML_METADATA_FILE: str = env.text(
    "AGUI_SAML_METADATA_FILE", rule=validators.saml_metadata_file
)
AGUI_SAML_NAME: str = env.text("AGUI_SAML_NAME", default="Single sign-on")
_CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"
AGUI_SAML_EMAIL: list[str] = env.entries(
    "AGUI_SAML_EMAIL",
    default=["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", f"{_CLAIMS}emailaddress"],
    rule=validators.saml_attribute,
)
AGUI_SAML_USERNAME: list[str] = env.entries(
    "AGUI_SAML_USERNAME",
    default=["username", "uid", "urn:oid:0.9.2342.19200300.100.1.1", f"{_CLAIMS}name"],
    rule=validators.saml_attribute,
)
AGUI_SAML_GROUPS: list[str] = env.entries(
    "AGUI_SAML_GROUPS",
    default=["groups", "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups"],
    rule=validators.saml_attribute,
)
AGUI_SAML_VERIFIED_DOMAINS: list[str] = env.entries(
    "AGUI_SAML_VERIFIED_DOMAINS", default=[], rule=validators.mail_domain
)
if AGUI_SAML_METADATA_URL and AGUI_SAML_METADATA_FILE:
    env.problem("AGUI_SAML_METADATA_FILE", "AGUI_SAML_METADATA_URL is set as well; set one of them")
SAML = bool(AGUI_SAML_METADATA_URL or AGUI_SAML_METADATA_FILE)
SOCIALACCOUNT_PROVIDERS: dict[str, dict[str, Any]] = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": AGUI_OIDC_NAME,
                "client_id": AGUI_OIDC_CLIENT_ID,
                "secret": AGUI_OIDC_CLIENT_SECRET,
                "settings": {
                    "server_url": AGUI_OIDC_URL,
                    "scope": AGUI_OIDC_SCOPES,
                    "verified_email": AGUI_OIDC_VERIFIED_DOMAINS,
                },
            }
        ]
        if AGUI_OIDC_URL
        else [],
    },
}
if SAML:
    SOCIALACCOUNT_PROVIDERS["saml"] = {
        "provider_class": "agui_host.dashboard.account.saml.provider.HostSAMLProvider",
        "APPS": [
            {
                "provider_id": "saml",
                "name": AGUI_SAML_NAME,
                "client_id": "saml",
                "settings": {"verified_email": AGUI_SAML_VERIFIED_DOMAINS},
            }
        ],
    }
EMAIL: dict[str, Any] = env.parsed(
    "EMAIL_URL", validators.email, default=validators.email("consolemail://"), secret=True
)
vars().update(EMAIL)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL: str = env.text(
    "AGUI_EMAIL_FROM", default="AG-UI run host <noreply@localhost>", rule=validators.sender
)
