"""Settings: every value comes from the environment and has a working default (docs/settings.md).

Importing this module starts nothing: without DATABASE_URL and REDIS_URL the addresses of the
embedded engines are computed from AGUI_DATA_DIR, and `manage.py` starts them. Invalid values are
collected, and the end of this module raises ImproperlyConfigured with a line for each.
"""

from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONCE, NONE, SELF

from agui_project import folders, logs, validators
from agui_project.environment import Environment
from backends import valkey
from backends.postgres import address, deadlines
from embedded import embedded

BASE_DIR = folders.FILES
env = Environment()

DEBUG: bool = env.flag("DEBUG", default=False)
env.text("XDG_DATA_HOME", rule=validators.folder)
AGUI_DATA_DIR = folders.data_dir()
env.text("AGUI_DATA_DIR", default=str(AGUI_DATA_DIR), rule=validators.folder)
signing_key = None if DEBUG else validators.signing_key
SECRET_KEY: str = env.text("SECRET_KEY", rule=signing_key, secret=True)
SECRET_KEY_FALLBACKS: list[str] = env.entries(
    "SECRET_KEY_FALLBACKS", default=[], rule=signing_key, secret=True
)
if not SECRET_KEY and not env.problems:
    SECRET_KEY = env.note(lambda: embedded.secret_key(AGUI_DATA_DIR), default="")
PORT: int = env.number("PORT", default=8000, most=65_535)
AGUI_PUBLIC_URL: str = env.text("AGUI_PUBLIC_URL", rule=validators.origin)
AGUI_PUBLIC_URL = AGUI_PUBLIC_URL.rstrip("/")
# The host's address without it: links in mails lead there, whatever Host a request names.
AGUI_LOCAL_URL = f"http://127.0.0.1:{PORT}"
# A host with a public name answers to that name, not to those of every machine.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ALLOWED_HOSTS: list[str] = env.entries(
    "AGUI_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"], rule=validators.host_name
)
if AGUI_PUBLIC_URL:
    ALLOWED_HOSTS = [name for name in ALLOWED_HOSTS if name not in LOOPBACK]
ALLOWED_HOSTS += [host] if (host := urlsplit(AGUI_PUBLIC_URL).hostname) else []
AGUI_ALLOWED_ORIGINS: list[str] = env.entries(
    "AGUI_ALLOWED_ORIGINS", default=[], rule=validators.allowed_origin
)
AGUI_SECRETS_KEYS: list[str] = env.entries(
    "AGUI_SECRETS_KEYS", default=[], rule=validators.sealing_key, secret=True
)
AGUI_OUTBOUND_ALLOW: list[str] = env.entries(
    "AGUI_OUTBOUND_ALLOW", default=[], rule=validators.outbound
)
CSRF_TRUSTED_ORIGINS = [origin for origin in AGUI_ALLOWED_ORIGINS if "://" in origin]
AGUI_TRUSTED_PROXIES: int = env.number("AGUI_TRUSTED_PROXIES", default=0, most=100)
AGUI_DEMO_API_KEY: str = env.text("AGUI_DEMO_API_KEY", rule=validators.api_key, secret=True)

AGUI_AGENT_MODULES: list[str] = env.entries(
    "AGUI_AGENT_MODULES", default=[], rule=validators.module
)
AGUI_SCRIPTED_AGENT: bool = env.flag("AGUI_SCRIPTED_AGENT", default=False)
AGUI_DB_THREADS: int = env.number("AGUI_DB_THREADS", default=8, least=1, most=1_000)
AGUI_DATABASE_DEADLINE: float = env.seconds("AGUI_DATABASE_DEADLINE", default=15.0)
AGUI_PROCESS_KEEP: bool = env.flag("AGUI_PROCESS_KEEP", default=False)
AGUI_MAX_BODY_BYTES: int = env.number("AGUI_MAX_BODY_BYTES", default=5_000_000, least=1)
AGUI_REQUEST_SLOTS: int = env.number(
    "AGUI_REQUEST_SLOTS", default=AGUI_DB_THREADS, least=1, most=1_000
)
AGUI_REQUEST_WAIT: float = env.seconds("AGUI_REQUEST_WAIT", default=10.0, least=0.01)
AGUI_BODY_TIMEOUT: float = env.seconds("AGUI_BODY_TIMEOUT", default=30.0, least=1)
AGUI_BODIES_MAX_BYTES: int = env.number("AGUI_BODIES_MAX_BYTES", default=100_000_000, least=1)
AGUI_MAX_EVENT_BYTES: int = env.number(
    "AGUI_MAX_EVENT_BYTES", default=10 * 1024 * 1024, least=1_000
)
AGUI_MAX_STATE_BYTES: int = env.number(
    "AGUI_MAX_STATE_BYTES", default=10 * 1024 * 1024, least=1_000
)
AGUI_MAX_TEXT_BYTES: int = env.number("AGUI_MAX_TEXT_BYTES", default=100 * 1024 * 1024, least=1_000)
AGUI_DOCUMENT_MAX_BYTES: int = env.number("AGUI_DOCUMENT_MAX_BYTES", default=1_000_000)
AGUI_DOCUMENTS_MAX: int = env.number("AGUI_DOCUMENTS_MAX", default=500)
AGUI_WISDOM_MAX: int = env.number("AGUI_WISDOM_MAX", default=100)
AGUI_CONTEXT_MAX_CHARS: int = env.number("AGUI_CONTEXT_MAX_CHARS", default=32_000)
AGUI_CONTEXT_TIMEOUT: float = env.seconds("AGUI_CONTEXT_TIMEOUT", default=10.0, least=0.01)
AGUI_RUN_TIMEOUT: float = env.seconds("AGUI_RUN_TIMEOUT", default=3600.0, least=0.01)
AGUI_WORKER_CONCURRENCY: int = env.number(
    "AGUI_WORKER_CONCURRENCY", default=200, least=1, most=100_000
)
AGUI_WORKER_GRACE: float = env.seconds("AGUI_WORKER_GRACE", default=AGUI_RUN_TIMEOUT)
AGUI_CANCEL_GRACE: float = env.seconds("AGUI_CANCEL_GRACE", default=5.0)
AGUI_HEARTBEAT: float = env.seconds("AGUI_HEARTBEAT", default=3.0, least=0.01)
AGUI_WORKER_LOST_AFTER: float = env.seconds("AGUI_WORKER_LOST_AFTER", default=20.0, least=0.01)
AGUI_INGEST_LEASE: float = env.seconds(
    "AGUI_INGEST_LEASE", default=AGUI_WORKER_LOST_AFTER, least=0.01
)
AGUI_REAP_EVERY: float = env.seconds("AGUI_REAP_EVERY", default=10.0, least=0.01)
AGUI_LIVENESS_SECONDS: float = env.seconds("AGUI_LIVENESS_SECONDS", default=15.0)
AGUI_LOOP_BLOCK_WARN: float = env.seconds("AGUI_LOOP_BLOCK_WARN", default=5.0, least=0.01)
AGUI_LOOP_BLOCK_LIMIT: float = env.seconds("AGUI_LOOP_BLOCK_LIMIT", default=60.0, least=0.01)
AGUI_KEY_CACHE_SECONDS: float = env.seconds("AGUI_KEY_CACHE_SECONDS", default=1.0, most=2)
AGUI_SSE_HEARTBEAT: float = env.seconds("AGUI_SSE_HEARTBEAT", default=15.0, least=0.01)
AGUI_STALL_TIMEOUT: float = env.seconds("AGUI_STALL_TIMEOUT", default=120.0, least=0.01)
AGUI_METRICS_KEY: str = env.text("AGUI_METRICS_KEY", rule=validators.api_key, secret=True)
AGUI_METRICS_ADDRESS: str = env.text("AGUI_METRICS_ADDRESS", rule=validators.address)
AGUI_HUB_TICK: float = env.seconds("AGUI_HUB_TICK", default=0.5, least=0.01)

# Alpine's dialect, under that document's names (docs/protocol.md#alpines-dialect).
ALPINE_AG_UI_ENABLED: bool = env.flag("ALPINE_AG_UI_ENABLED", default=True)
ALPINE_AG_UI_BUFFER_SIZE: int = env.number("ALPINE_AG_UI_BUFFER_SIZE", default=1000, least=1)
ALPINE_AG_UI_VALIDATE_EVENTS: bool = env.flag("ALPINE_AG_UI_VALIDATE_EVENTS", default=True)
ALPINE_AG_UI_STREAM_TIMEOUT: float = env.duration("ALPINE_AG_UI_STREAM_TIMEOUT", default="30s")

# What a team may use if it has no limits of its own (teams/limits.py); 0 is no limit.
AGUI_LIMIT_CONCURRENT_RUNS: int = env.number("AGUI_LIMIT_CONCURRENT_RUNS", default=500)
AGUI_LIMIT_QUEUED_RUNS: int = env.number("AGUI_LIMIT_QUEUED_RUNS", default=10_000)
AGUI_LIMIT_RUNS_PER_MINUTE: int = env.number("AGUI_LIMIT_RUNS_PER_MINUTE", default=3_000)
AGUI_LIMIT_EVENTS_PER_SECOND: int = env.number("AGUI_LIMIT_EVENTS_PER_SECOND", default=10_000)
AGUI_LIMIT_EVENT_BYTES: int = env.number("AGUI_LIMIT_EVENT_BYTES", default=10 * 1024 * 1024)
AGUI_LIMIT_RUN_SECONDS: int = env.number("AGUI_LIMIT_RUN_SECONDS", default=86_400, most=10**9)
AGUI_LIMIT_OPEN_STREAMS: int = env.number("AGUI_LIMIT_OPEN_STREAMS", default=2_000)
AGUI_LINK_STREAMS: int = env.number("AGUI_LINK_STREAMS", default=500)
AGUI_LINK_STREAMS_PER_ADDRESS: int = env.number("AGUI_LINK_STREAMS_PER_ADDRESS", default=20)
AGUI_LIMIT_STORED_BYTES: int = env.number("AGUI_LIMIT_STORED_BYTES", default=100_000_000_000)
AGUI_LIMIT_RETENTION_DAYS: int = env.number("AGUI_LIMIT_RETENTION_DAYS", default=0, most=100_000)

LLM_BASE_URL: str = env.text("AGUI_LLM_BASE_URL", rule=validators.http_url)
LLM_API_KEY: str = env.text("AGUI_LLM_API_KEY", secret=True)
LLM_MODEL: str = env.text("AGUI_LLM_MODEL", rule=validators.needs_extra("llm", "pydantic_ai"))

PROCRASTINATE_IMPORT_PATHS = ["runs.worker.tasks"]
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
    "embedded",
    "teams",
    "runtimes",
    "events",
    "runs",
    "dashboard",
]
MIDDLEWARE = [
    "web.health.Probes",
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
ASGI_APPLICATION = "web.asgi.application"
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

AGUI_EMBEDDED = embedded.wanted()
AGUI_DATABASE_ROLES: bool = env.flag("AGUI_DATABASE_ROLES", default=True)
AGUI_DATABASE_APP_PASSWORD: str = env.text("AGUI_DATABASE_APP_PASSWORD", secret=True)
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.parsed(
        "DATABASE_URL",
        address.database,
        default=embedded.database(AGUI_DATA_DIR) | {"OPTIONS": address.with_defaults({})},
        secret=True,
    )
}
# Without the pool, 54 of 300 concurrent POSTs got 500 and CONN_MAX_AGE leaked connections.
DATABASES["default"] |= {
    "ENGINE": "backends.postgres",
    "CONN_MAX_AGE": 0,
    "CONN_HEALTH_CHECKS": True,  # A pooled connection may have died with a restart of Postgres.
}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "connection_class": deadlines.Connection,
    "min_size": 2,
    "max_size": env.number(
        "AGUI_DB_POOL", default=AGUI_DB_THREADS + AGUI_REQUEST_SLOTS + 2, least=2, most=10_000
    ),
    "timeout": 10,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL: str = env.parsed(
    "REDIS_URL", valkey.address, default=embedded.valkey_url(AGUI_DATA_DIR), secret=True
)
CHANNEL_LAYERS = {
    "default": {"BACKEND": "backends.bell.BellLayer", "CONFIG": {"hosts": [REDIS_URL]}}
}

CACHES = {"default": {"BACKEND": "backends.cache.ForgivingCache", "LOCATION": REDIS_URL}}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["teams.authentication.PrincipalAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["teams.authentication.IsPrincipal"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["runs.api.parsers.StrictJSONParser"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "web.answers.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "agui_project.openapi.describe_refusals",
        "agui_project.openapi.close_changes",
    ],
    "ENUM_NAME_OVERRIDES": {
        "AgentKind": "runtimes.team_agents.KINDS",
        "GrantKind": "runs.api.grants.KINDS",
        "OutlineKind": "protocol.fold.outline.KINDS",
    },
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
# How people sign in: by django-allauth; dashboard/account/adapters.py makes our decisions.
AGUI_INVITATION_COOLDOWN: int = env.number("AGUI_INVITATION_COOLDOWN", default=600, most=10**9)
AGUI_INVITATIONS_PER_DAY: int = env.number("AGUI_INVITATIONS_PER_DAY", default=1_000)
AGUI_SIGNUP: str = env.choice("AGUI_SIGNUP", default="invited", among=("open", "invited", "closed"))
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_ADAPTER = "dashboard.account.adapters.AccountAdapter"
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
MFA_ADAPTER = "dashboard.account.second_factor.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "AG-UI run host"
SOCIALACCOUNT_ADAPTER = "dashboard.account.adapters.SocialAdapter"
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
AGUI_OIDC_URL: str = env.text("AGUI_OIDC_URL", rule=validators.http_url)
AGUI_OIDC_NAME: str = env.text("AGUI_OIDC_NAME", default="Single sign-on")
AGUI_OIDC_CLIENT_ID: str = env.text("AGUI_OIDC_CLIENT_ID")
AGUI_OIDC_CLIENT_SECRET: str = env.text("AGUI_OIDC_CLIENT_SECRET", secret=True)
if AGUI_OIDC_URL and not AGUI_OIDC_CLIENT_ID:
    env.problem(
        "AGUI_OIDC_CLIENT_ID", "it is empty, and AGUI_OIDC_URL needs it; set both or neither"
    )
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": AGUI_OIDC_NAME,
                "client_id": AGUI_OIDC_CLIENT_ID,
                "secret": AGUI_OIDC_CLIENT_SECRET,
                "settings": {"server_url": AGUI_OIDC_URL},
            }
        ]
        if AGUI_OIDC_URL
        else [],
    }
}
EMAIL: dict[str, Any] = env.parsed(
    "EMAIL_URL", validators.email, default=validators.email("consolemail://"), secret=True
)
vars().update(EMAIL)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL: str = env.text(
    "AGUI_EMAIL_FROM", default="AG-UI run host <noreply@localhost>", rule=validators.sender
)

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

# An https address means that a proxy in front ends TLS and says so in X-Forwarded-Proto.
HTTPS = AGUI_PUBLIC_URL.startswith("https://") and not DEBUG
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^ready$"]  # probes bypass the proxy
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Whether other names of this domain speak https is not for this host to promise.
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
    level=env.text("AGUI_LOG_LEVEL", default="INFO", rule=validators.level),
    json=env.flag("AGUI_LOG_JSON", default=False),
)
AGUI_MISSPELT = env.misspelt()
env.verify()
