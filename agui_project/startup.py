"""The one line that web and worker log when they start."""

from collections.abc import Iterable

import structlog
from django.conf import settings

from agui_host.backends import metrics, ringer
from agui_host.backends.postgres import roles
from agui_host.backends.postgres.reach import reach
from agui_host.backends.postgres.servers import pooler
from agui_project import cli, foreign_modules, release

log = structlog.get_logger(__name__)


def announce(process: str, agents: Iterable[str], **values: int | str) -> None:
    """Log the version, the servers that this process uses and the ``agents`` it has code for.

    Raises ImproperlyConfigured if the database, or the server in REDIS_URL, refuses us (without
    Valkey: if notifications do not arrive), and Shared if sessions of the database do not last as
    long as this process needs them.
    """
    for name, likely in settings.AGUI_MISSPELT.items():
        log.warning("setting.unknown", name=name, did_you_mean=likely)
    for line in foreign_modules.hidden():
        log.warning("module.hidden", reason=line)
    if roles.can_be_left(here=True):
        log.warning(
            "database.role_can_be_left", setting="AGUI_DATABASE_APP_PASSWORD", see=roles.SEE
        )
    database = reach()
    pooler.check()
    bell = ringer.reach()
    metrics.build_info.labels(release.version(), release.commit()).set(1)
    log.info(
        f"{process}.started",
        version=cli.version(),
        commit=release.commit(),
        database=database,
        valkey=bell,
        agents=",".join(agents),
        **values,
    )
