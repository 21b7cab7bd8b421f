"""System checks: misconfiguration is said at start, with an id and a hint."""

import zlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

from agui_project.addresses import Allowed
from agui_project.secrets import SHORTEST_KEY

FEWEST_CHARACTERS = 8
SAMPLE = "django-insecure-"
OLDEST = 150_000
LONGEST_HEARTBEAT = 25
SHORTEST_LIVENESS = 3


@register(Tags.security)
def origins(**kwargs: Any) -> list[CheckMessage]:
    """AGUI_ALLOWED_ORIGINS holds origins: scheme and host, no path."""
    found: list[CheckMessage] = []
    for origin in settings.AGUI_ALLOWED_ORIGINS:
        parts = urlsplit(origin)
        if origin != "*" and (not parts.scheme or not parts.netloc or parts.path):
            found.append(
                Error(
                    f"AGUI_ALLOWED_ORIGINS holds {origin!r}, which is not an origin.",
                    hint="Write https://app.example.com: scheme and host, no path.",
                    id="agui.E001",
                )
            )
    return found


@register(Tags.security)
def secret_key(**kwargs: Any) -> list[CheckMessage]:
    """SECRET_KEY signs sessions and seals secrets: guessing it means full access."""
    found: list[CheckMessage] = []
    if settings.DEBUG:
        return found
    for name, keys in (
        ("SECRET_KEY", [settings.SECRET_KEY]),
        ("SECRET_KEY_FALLBACKS", settings.SECRET_KEY_FALLBACKS),
    ):
        if any(map(_guessable, keys)):
            found.append(
                Error(
                    f"{name} has fewer than {SHORTEST_KEY} characters, or repeats itself.",
                    hint="Make one: python -c 'import secrets; print(secrets.token_urlsafe(50))'",
                    id="agui.E010",
                )
            )
    return found


def _guessable(key: str) -> bool:
    """Short, a sample, of few characters, or a pattern: that a compressor finds."""
    squeezed = len(zlib.compress(key.encode(), 9))
    few = len(set(key)) < FEWEST_CHARACTERS
    return len(key) < SHORTEST_KEY or few or squeezed < SHORTEST_KEY or key.startswith(SAMPLE)


@register(Tags.security)
def coming_in(**kwargs: Any) -> list[CheckMessage]:
    """AGUI_PUBLIC_URL is an origin, and AGUI_SIGNUP one of its three words."""
    found: list[CheckMessage] = []
    parts = urlsplit(settings.AGUI_PUBLIC_URL)
    origin = f"{parts.scheme}://{parts.netloc}"
    if settings.AGUI_PUBLIC_URL and (
        parts.scheme not in ("http", "https") or origin != settings.AGUI_PUBLIC_URL
    ):
        found.append(
            Error(
                f"AGUI_PUBLIC_URL is {settings.AGUI_PUBLIC_URL!r}, which is no address of a host.",
                hint="Write https://agents.example.com: scheme and host, no path.",
                id="agui.E007",
            )
        )
    if settings.AGUI_SIGNUP not in ("open", "invited", "closed"):
        hint = "It is open, invited or closed."
        found.append(Error("AGUI_SIGNUP has no such value.", hint=hint, id="agui.E008"))
    return found


@register(Tags.security)
def outgoing(**kwargs: Any) -> list[CheckMessage]:
    """AGUI_OUTBOUND_ALLOW can be read, and the keys of AGUI_SECRETS_KEYS are no short words."""
    found: list[CheckMessage] = []
    try:
        Allowed(settings.AGUI_OUTBOUND_ALLOW)
    except ValueError as error:
        found.append(
            Error(
                f"AGUI_OUTBOUND_ALLOW: {error}.",
                hint="Write localhost, agents.internal or 10.1.0.0/16: no scheme, no port.",
                id="agui.E005",
            )
        )
    if any(len(key) < SHORTEST_KEY for key in settings.AGUI_SECRETS_KEYS):
        found.append(
            Error(
                f"A key of AGUI_SECRETS_KEYS has fewer than {SHORTEST_KEY} characters.",
                hint="Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
                id="agui.E006",
            )
        )
    return found


@register(Tags.database)
def postgres_version(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """PostgreSQL 15 is the oldest that the tests run on."""
    for alias in databases or ():
        if getattr(connections[alias], "pg_version", OLDEST) < OLDEST:
            return [Error("PostgreSQL 15 or newer is needed.", id="agui.E003")]
    return []


@register()
def numbers(**kwargs: Any) -> list[CheckMessage]:
    """Settings that depend on each other."""
    found: list[CheckMessage] = []
    if settings.AGUI_WORKER_LOST_AFTER < 3 * settings.AGUI_HEARTBEAT:
        found.append(
            Warning(
                "AGUI_WORKER_LOST_AFTER is less than three heartbeats.",
                hint="A worker that is merely slow would lose its runs.",
                id="agui.W001",
            )
        )
    if not 0 < settings.AGUI_SSE_HEARTBEAT <= LONGEST_HEARTBEAT:
        found.append(
            Warning(
                f"AGUI_SSE_HEARTBEAT is not between 0 and {LONGEST_HEARTBEAT} seconds.",
                hint="Without Valkey, a stream asks then only whether its reader may still read.",
                id="agui.W002",
            )
        )
    if 0 < settings.AGUI_LIVENESS_SECONDS < SHORTEST_LIVENESS:
        found.append(
            Warning(
                f"AGUI_LIVENESS_SECONDS is below {SHORTEST_LIVENESS}.",
                hint="Processes give a sign of life each second; 0 switches the check off.",
                id="agui.W003",
            )
        )
    found.extend(
        Error(f"{name} must be at least 1.", id="agui.E002")
        for name in (
            "AGUI_DB_THREADS",
            "AGUI_MAX_BODY_BYTES",
            "AGUI_BODIES_MAX_BYTES",
            "AGUI_BODY_TIMEOUT",
            "AGUI_REQUEST_SLOTS",
            "AGUI_WORKER_CONCURRENCY",
            "ALPINE_AG_UI_BUFFER_SIZE",
        )
        if getattr(settings, name) < 1
    )
    return found
