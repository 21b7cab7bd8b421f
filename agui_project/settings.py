"""Settings: every value comes from the environment and has a working default (docs/settings.md).

Importing this module starts nothing: without DATABASE_URL and REDIS_URL the addresses of the
embedded engines are computed from AGUI_DATA_DIR, and `manage.py` starts them.
"""

from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONCE, NONE, SELF

from agui_project import durations, embedded, folders, logs, valkey
from agui_project.postgres import address, deadlines

BASE_DIR = folders.FILES
env = environ.Env()

DEBUG: bool = env.bool("DEBUG", default=False)
AGUI_DATA_DIR = folders.data_dir()
SECRET_KEY: str = env.str("SECRET_KEY", default="") or embedded.secret_key(AGUI_DATA_DIR)
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])
AGUI_PUBLIC_URL: str = env.str("AGUI_PUBLIC_URL", default="")
AGUI_PUBLIC_URL = AGUI_PUBLIC_URL.rstrip("/")
# Where this host is without it: links in mails go there, wherever a request says it came to.
AGUI_LOCAL_URL = f"http://127.0.0.1:{env.str('PORT', default='8000')}"
# A host that people reach by its name answers to that name, not to those of every machine.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ALLOWED_HOSTS: list[str] = env.list(
    "AGUI_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"]
)
if AGUI_PUBLIC_URL:
    ALLOWED_HOSTS = [name for name in ALLOWED_HOSTS if name not in LOOPBACK]
ALLOWED_HOSTS += [host] if (host := urlsplit(AGUI_PUBLIC_URL).hostname) else []
AGUI_ALLOWED_ORIGINS: list[str] = env.list("AGUI_ALLOWED_ORIGINS", default=[])
AGUI_SECRETS_KEYS: list[str] = env.list("AGUI_SECRETS_KEYS", default=[])
AGUI_OUTBOUND_ALLOW: list[str] = env.list("AGUI_OUTBOUND_ALLOW", default=[])
CSRF_TRUSTED_ORIGINS = [origin for origin in AGUI_ALLOWED_ORIGINS if "://" in origin]
AGUI_TRUSTED_PROXIES: int = env.int("AGUI_TRUSTED_PROXIES", default=0)

AGUI_AGENT_MODULES: list[str] = env.list("AGUI_AGENT_MODULES", default=[])
AGUI_SCRIPTED_AGENT: bool = env.bool("AGUI_SCRIPTED_AGENT", default=False)
AGUI_DB_THREADS: int = env.int("AGUI_DB_THREADS", default=8)
AGUI_DATABASE_DEADLINE: float = env.float("AGUI_DATABASE_DEADLINE", default=15.0)
AGUI_PROCESS_KEEP: bool = env.bool("AGUI_PROCESS_KEEP", default=False)
AGUI_MAX_BODY_BYTES: int = env.int("AGUI_MAX_BODY_BYTES", default=5_000_000)
AGUI_REQUEST_SLOTS: int = env.int("AGUI_REQUEST_SLOTS", default=AGUI_DB_THREADS)
AGUI_REQUEST_WAIT: float = env.float("AGUI_REQUEST_WAIT", default=10.0)
AGUI_BODY_TIMEOUT: float = env.float("AGUI_BODY_TIMEOUT", default=30.0)
AGUI_BODIES_MAX_BYTES: int = env.int("AGUI_BODIES_MAX_BYTES", default=100_000_000)
AGUI_MAX_EVENT_BYTES: int = env.int("AGUI_MAX_EVENT_BYTES", default=10 * 1024 * 1024)
AGUI_MAX_STATE_BYTES: int = env.int("AGUI_MAX_STATE_BYTES", default=10 * 1024 * 1024)
AGUI_MAX_TEXT_BYTES: int = env.int("AGUI_MAX_TEXT_BYTES", default=100 * 1024 * 1024)
AGUI_DOCUMENT_MAX_BYTES: int = env.int("AGUI_DOCUMENT_MAX_BYTES", default=1_000_000)
AGUI_DOCUMENTS_MAX: int = env.int("AGUI_DOCUMENTS_MAX", default=500)
AGUI_WISDOM_MAX: int = env.int("AGUI_WISDOM_MAX", default=100)
AGUI_CONTEXT_MAX_CHARS: int = env.int("AGUI_CONTEXT_MAX_CHARS", default=32_000)
AGUI_CONTEXT_TIMEOUT: float = env.float("AGUI_CONTEXT_TIMEOUT", default=10.0)
AGUI_RUN_TIMEOUT: float = env.float("AGUI_RUN_TIMEOUT", default=3600.0)
AGUI_WORKER_CONCURRENCY: int = env.int("AGUI_WORKER_CONCURRENCY", default=200)
AGUI_WORKER_GRACE: float = env.float("AGUI_WORKER_GRACE", default=AGUI_RUN_TIMEOUT)
AGUI_CANCEL_GRACE: float = env.float("AGUI_CANCEL_GRACE", default=5.0)
AGUI_HEARTBEAT: float = env.float("AGUI_HEARTBEAT", default=3.0)
AGUI_WORKER_LOST_AFTER: float = env.float("AGUI_WORKER_LOST_AFTER", default=20.0)
AGUI_REAP_EVERY: float = env.float("AGUI_REAP_EVERY", default=10.0)
AGUI_LIVENESS_SECONDS: float = env.float("AGUI_LIVENESS_SECONDS", default=15.0)
AGUI_LOOP_BLOCK_WARN: float = env.float("AGUI_LOOP_BLOCK_WARN", default=5.0)
AGUI_LOOP_BLOCK_LIMIT: float = env.float("AGUI_LOOP_BLOCK_LIMIT", default=60.0)
AGUI_SSE_HEARTBEAT: float = env.float("AGUI_SSE_HEARTBEAT", default=15.0)
AGUI_STALL_TIMEOUT: float = env.float("AGUI_STALL_TIMEOUT", default=120.0)
AGUI_HUB_TICK: float = env.float("AGUI_HUB_TICK", default=0.5)

# Alpine's dialect, under that document's names (docs/protocol.md#alpines-dialect).
ALPINE_AG_UI_ENABLED: bool = env.bool("ALPINE_AG_UI_ENABLED", default=True)
ALPINE_AG_UI_BUFFER_SIZE: int = env.int("ALPINE_AG_UI_BUFFER_SIZE", default=1000)
ALPINE_AG_UI_VALIDATE_EVENTS: bool = env.bool("ALPINE_AG_UI_VALIDATE_EVENTS", default=True)
ALPINE_AG_UI_STREAM_TIMEOUT: float = durations.seconds(
    env.str("ALPINE_AG_UI_STREAM_TIMEOUT", default="30s")
)

# What a team may use, where it has no values of its own (teams/limits.py); 0 is no limit.
AGUI_LIMIT_CONCURRENT_RUNS: int = env.int("AGUI_LIMIT_CONCURRENT_RUNS", default=500)
AGUI_LIMIT_QUEUED_RUNS: int = env.int("AGUI_LIMIT_QUEUED_RUNS", default=10_000)
AGUI_LIMIT_RUNS_PER_MINUTE: int = env.int("AGUI_LIMIT_RUNS_PER_MINUTE", default=3_000)
AGUI_LIMIT_EVENTS_PER_SECOND: int = env.int("AGUI_LIMIT_EVENTS_PER_SECOND", default=10_000)
AGUI_LIMIT_EVENT_BYTES: int = env.int("AGUI_LIMIT_EVENT_BYTES", default=10 * 1024 * 1024)
AGUI_LIMIT_RUN_SECONDS: int = env.int("AGUI_LIMIT_RUN_SECONDS", default=86_400)
AGUI_LIMIT_OPEN_STREAMS: int = env.int("AGUI_LIMIT_OPEN_STREAMS", default=2_000)
AGUI_LINK_STREAMS: int = env.int("AGUI_LINK_STREAMS", default=500)
AGUI_LINK_STREAMS_PER_ADDRESS: int = env.int("AGUI_LINK_STREAMS_PER_ADDRESS", default=20)
AGUI_LIMIT_STORED_BYTES: int = env.int("AGUI_LIMIT_STORED_BYTES", default=100_000_000_000)
AGUI_LIMIT_RETENTION_DAYS: int = env.int("AGUI_LIMIT_RETENTION_DAYS", default=0)

LLM_BASE_URL: str = env.str("AGUI_LLM_BASE_URL", default="")
LLM_API_KEY: str = env.str("AGUI_LLM_API_KEY", default="")
LLM_MODEL: str = env.str("AGUI_LLM_MODEL", default="")

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "procrastinate.contrib.django",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework_api_key",
    "django_filters",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "agui_project",
    "teams",
    "runtimes",
    "events",
    "runs",
    "dashboard",
]
MIDDLEWARE = [
    "agui_project.health.Probes",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "teams.tenancy.OperatorPages",
]
ROOT_URLCONF = "agui_project.urls"
ASGI_APPLICATION = "agui_project.asgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.visitor.visitor",
            ]
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": (
        address.database(url)
        if (url := env.str("DATABASE_URL", default=""))
        else embedded.database(AGUI_DATA_DIR) | {"OPTIONS": address.with_defaults({})}
    )
}
# Without the pool, 54 of 300 concurrent POSTs got 500 and CONN_MAX_AGE leaked connections.
DATABASES["default"] |= {
    "ENGINE": "agui_project.postgres",
    "CONN_MAX_AGE": 0,
    "CONN_HEALTH_CHECKS": True,  # a pooled connection may have died with a restart of Postgres
}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "connection_class": deadlines.Connection,
    "min_size": 2,
    "max_size": env.int("AGUI_DB_POOL", default=AGUI_DB_THREADS + AGUI_REQUEST_SLOTS + 2),
    "timeout": 10,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL: str = valkey.address(
    env.str("REDIS_URL", default="") or embedded.valkey_url(AGUI_DATA_DIR)
)
CHANNEL_LAYERS = {
    "default": {"BACKEND": "agui_project.bell.BellLayer", "CONFIG": {"hosts": [REDIS_URL]}}
}

CACHES = {"default": {"BACKEND": "agui_project.cache.ForgivingCache", "LOCATION": REDIS_URL}}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["teams.authentication.PrincipalAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["teams.authentication.IsPrincipal"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["runs.api.parsers.StrictJSONParser"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "agui_project.answers.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "agui_project.openapi.describe_refusals",
    ],
    "TITLE": "AG-UI run host",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# How people sign in: by django-allauth, for which dashboard/accounts.py decides.
AGUI_INVITATION_COOLDOWN: int = env.int("AGUI_INVITATION_COOLDOWN", default=600)
AGUI_INVITATIONS_PER_DAY: int = env.int("AGUI_INVITATIONS_PER_DAY", default=1_000)
AGUI_SIGNUP: str = env.str("AGUI_SIGNUP", default="invited")
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_ADAPTER = "dashboard.accounts.AccountAdapter"
ACCOUNT_FORMS = {"login": "dashboard.forms.LoginForm", "signup": "dashboard.forms.SignupForm"}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_SESSION_REMEMBER = True
MFA_ADAPTER = "dashboard.second_factor.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "AG-UI run host"
SOCIALACCOUNT_ADAPTER = "dashboard.accounts.SocialAdapter"
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": env.str("AGUI_OIDC_NAME", default="Single sign-on"),
                "client_id": env.str("AGUI_OIDC_CLIENT_ID", default=""),
                "secret": env.str("AGUI_OIDC_CLIENT_SECRET", default=""),
                "settings": {"server_url": server_url},
            }
            for server_url in [env.str("AGUI_OIDC_URL", default="")]
            if server_url
        ],
    }
}
vars().update(env.email_url("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL: str = env.str("AGUI_EMAIL_FROM", default="AG-UI run host <noreply@localhost>")

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/runs/"
LOGOUT_REDIRECT_URL = "/login/"
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
# Agents' output is shown on these pages: nothing inline ever runs, and nothing leaves this host.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# An address with https means that a proxy in front ends TLS and says so in X-Forwarded-Proto.
HTTPS = AGUI_PUBLIC_URL.startswith("https://") and not DEBUG
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^ready$"]  # probes come without the proxy
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Whether the names beside and below this one speak https is not this host's to promise.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
DATA_UPLOAD_MAX_MEMORY_SIZE = AGUI_MAX_BODY_BYTES

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

LOGGING = logs.config(
    level=env.str("AGUI_LOG_LEVEL", default="INFO"), json=env.bool("AGUI_LOG_JSON", default=False)
)
