"""System checks: settings that are valid by themselves but do not fit together.

A value that is invalid by itself never gets here: reading it stops the start (``environment.py``).
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

from agui_host.backends.postgres import roles
from agui_project import foreign_modules

OLDEST = 150_000
LONGEST_HEARTBEAT = 25
SHORTEST_LIVENESS = 3
OWN = "agui"
"""The tag of checks that need the settings only; a worker checks nothing else before it starts."""


@register(Tags.database)
def postgres_version(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """PostgreSQL 15 is the oldest that the tests run on."""
    for alias in databases or ():
        if getattr(connections[alias], "pg_version", OLDEST) < OLDEST:
            return [Error("PostgreSQL 15 or newer is needed.", id="agui.E003")]
    return []


@register(OWN)
def numbers(**kwargs: Any) -> list[CheckMessage]:
    """Settings that depend on each other."""
    messages: list[CheckMessage] = []
    if settings.AGUI_WORKER_LOST_AFTER < 3 * settings.AGUI_HEARTBEAT:
        messages.append(
            Warning(
                "AGUI_WORKER_LOST_AFTER is less than three heartbeats.",
                hint="A worker that is merely slow would lose its runs.",
                id="agui.W001",
            )
        )
    if settings.AGUI_SSE_HEARTBEAT > LONGEST_HEARTBEAT:
        messages.append(
            Warning(
                f"AGUI_SSE_HEARTBEAT is above {LONGEST_HEARTBEAT} seconds.",
                hint="Without Valkey, a stream re-checks access only with its heartbeat.",
                id="agui.W002",
            )
        )
    if 0 < settings.AGUI_LIVENESS_SECONDS < SHORTEST_LIVENESS:
        messages.append(
            Warning(
                f"AGUI_LIVENESS_SECONDS is below {SHORTEST_LIVENESS}.",
                hint="Processes give a sign of life each second; 0 disables the check.",
                id="agui.W003",
            )
        )
    return messages


@register(Tags.security, deploy=True)
def database_login(**kwargs: Any) -> list[CheckMessage]:
    """Warn if code in web and worker could see all teams by its own SQL."""
    if not roles.can_be_left(here=False):
        return []
    return [
        Warning(
            "Web and worker log in as the owner of the database, and only take a smaller role.",
            hint=f"Set AGUI_DATABASE_APP_PASSWORD, and migrate ({roles.SEE}).",
            id="agui.W005",
        )
    ]


@register(OWN)
def names(**kwargs: Any) -> list[CheckMessage]:
    """Warn about unread variables that look like a setting."""
    return [
        Warning(f"{name} is not a setting.", hint=f"Did you mean {likely}?", id="agui.W004")
        for name, likely in settings.AGUI_MISSPELT.items()
    ]


@register(OWN)
def foreign(**kwargs: Any) -> list[CheckMessage]:
    """Warn about modules of others that cannot be imported."""
    return [Warning(f"{line}.", id="agui.W006") for line in foreign_modules.hidden()]
