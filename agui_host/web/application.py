"""The application that granian serves under the supervisor, in a process that ends with it."""

import multiprocessing
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

from agui_host.embedded import child
from agui_host.security import own_secrets

log = structlog.get_logger(__name__)


def application() -> Any:
    """The ASGI application; called inside granian's worker process (``--factory``).

    Granian's main process ends with the supervisor, but its worker would live on and keep the port.
    """
    child.die_with_parent(signal.SIGKILL)
    own_secrets.hide()
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        raise SystemExit("granian's main process died first")
    try:
        from agui_host.web.asgi import application
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
    from agui_host.backends.postgres.base import serve

    serve(shares=True)
    _announce()
    return application


def _announce() -> None:
    from django.conf import settings

    from agui_host.backends.postgres.servers.pooler import Shared
    from agui_host.runtimes import file_directory, registry
    from agui_project import startup

    try:
        startup.announce("web", registry.offered(), request_slots=settings.AGUI_REQUEST_SLOTS)
    except Shared as error:
        sys.exit(f"{error}")
    except ImproperlyConfigured as error:
        # It serves what needs no database, reports the outage at /ready, and recovers by itself.
        log.error("web.not_ready", reason=f"{error}")
        return
    try:
        # In a thread, since granian can have a loop here, in which Django refuses queries.
        with ThreadPoolExecutor(1) as threads:
            threads.submit(file_directory.claim).result()
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
