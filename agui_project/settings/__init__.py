"""Settings: every value comes from the environment and has a working default (docs/settings.md).

A new one goes to the module of its subject; this one wires Django. Importing it starts nothing:
without DATABASE_URL and REDIS_URL the addresses of the embedded engines are computed from
AGUI_DATA_DIR, and `manage.py` starts them. Invalid values are collected, and the end of this module
raises ImproperlyConfigured with a line for each.
"""

import sys

from csp.constants import NONCE, NONE, SELF

from agui_host import logs
from agui_project import foreign_modules, validators
from agui_project.settings.accounts import *
from agui_project.settings.accounts import SAML
from agui_project.settings.host import *
from agui_project.settings.host import AGUI_PUBLIC_URL, BASE_DIR, DEBUG, env
from agui_project.settings.limits import *
from agui_project.settings.limits import AGUI_MAX_BODY_BYTES
from agui_project.settings.servers import *

PROCRASTINATE_IMPORT_PATHS = ["runs.worker.tasks"]
INSTALLED_APPS = [
    # It imports Twisted, for which no other process has to wait.
    *(["daphne"] if sys.argv[1:2] == ["runserver"] else []),
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
    *("allauth", "allauth.account", "allauth.mfa", "allauth.usersessions", "allauth.socialaccount"),
    "allauth.socialaccount.providers.openid_connect",
    *(["allauth.socialaccount.providers.saml"] if SAML else []),
    *("agui_project", "agui_host.embedded", "agui_host.teams", "agui_host.runtimes"),
    *("events", "runs", "agui_host.dialects", "agui_host.dashboard"),
    *("agui_host.doctor", "agui_host.apply"),
]
MIDDLEWARE = [
    "agui_host.web.health.Probes",
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
    "agui_host.teams.tenancy.OperatorPages",
    "agui_host.web.answers.NoPageForKeys",
]
ROOT_URLCONF = "agui_project.urls"
ASGI_APPLICATION = "agui_host.web.asgi.application"
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
                "agui_host.dashboard.visitor.visitor",
            ]
        },
    }
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["agui_host.teams.authentication.PrincipalAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["agui_host.teams.authentication.IsPrincipal"],
    "DEFAULT_RENDERER_CLASSES": ["agui_host.teams.api.renderers.QuickJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["runs.api.parsers.StrictJSONParser"],
    "DEFAULT_FILTER_BACKENDS": ["agui_host.teams.api.queries.KnownFilters"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "agui_host.web.answers.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "agui_project.openapi.describe_refusals",
        "agui_project.openapi.close_bodies",
        "agui_host.web.description.hook.describe_streams",
        "agui_project.openapi.list_tags",
    ],
    "ENUM_NAME_OVERRIDES": {
        "AgentKind": "agui_host.runtimes.team_agents.KINDS",
        "GrantKind": "runs.api.grants.KINDS",
        "InterruptStatusEnum": "runs.models.InterruptStatus",
        "OnCodeChangeEnum": "agui_host.runtimes.models.OnCodeChange",
        "IssueStatusEnum": "runs.access.insight.issues.STATUSES",
        "OnBusyEnum": "agui_host.runtimes.models.ON_BUSY",
        "OutlineKind": "agui_host.protocol.fold.outline_kinds.KINDS",
        "RoleEnum": "agui_host.teams.models.Role",
        "RunStatusEnum": "runs.models.Status",
        "ToolCallStatusEnum": "runs.models.insight.tool_call.Called",
    },
    "TITLE": "AG-UI run host",
    "DESCRIPTION": "Runs of AG-UI agents: start, watch, answer, cancel and replay them.",
    "SERVERS": [{"url": "/"}],
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "agui_host.dashboard.pages.stale_form"
X_FRAME_OPTIONS = "DENY"
# Agents' output is shown on these pages: nothing inline ever runs, and nothing leaves this host.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# An https address means that a proxy in front ends TLS and sets X-Forwarded-Proto.
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
env.problems += foreign_modules.hiding()
env.verify()
