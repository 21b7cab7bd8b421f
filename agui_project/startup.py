"""The one line that web and worker log when they start."""

from collections.abc import Iterable

import structlog
from django.conf import settings

from agui_project import cli
from backends import valkey
from backends.postgres import roles
from backends.postgres.reach import reach
from backends.without_valkey import reach as without_valkey

log = structlog.get_logger(__name__)


def announce(process: str, agents: Iterable[str], **values: int | str) -> None:
    """Log the version, the servers that this process uses and the ``agents`` it has code for.

    Raises ImproperlyConfigured if the database, or the server in REDIS_URL, refuses us; without
    Valkey, if PostgreSQL's notifications do not arrive.
    """
    for name, likely in settings.AGUI_MISSPELT.items():
        log.warning("setting.unknown", name=name, did_you_mean=likely)
    if roles.can_be_left(here=True):
        log.warning(
            "database.role_can_be_left", setting="AGUI_DATABASE_APP_PASSWORD", see=roles.SEE
        )
    database = reach()
    if not settings.REDIS_URL:
        without_valkey.reach()
        bell = "none"
    else:
        bell = (
            valkey.place(settings.REDIS_URL) if valkey.reach(settings.REDIS_URL) else "unreachable"
        )
    log.info(
        f"{process}.started",
        version=cli.version(),
        database=database,
        valkey=bell,
        agents=",".join(agents),
        **values,
    )
