"""``manage.py supervise``: one process of a deployment, started again when it dies or hangs."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agui_host.backends import ringer
from agui_host.backends.postgres.base import session_parameters
from agui_host.backends.postgres.reach import reach
from agui_host.embedded import deployed, embedded, ports


class Command(BaseCommand):
    """``manage.py supervise``."""

    help = "Run a web process or a worker until SIGTERM, and start it again when it dies or hangs."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("process", choices=["web", "worker"])
        parser.add_argument("--host", default="127.0.0.1", help="where the web process listens")
        parser.add_argument("--port", type=ports.number, default=settings.PORT)

    def handle(self, *, process: str, host: str, port: int, **options: Any) -> None:
        # Only at the start: later it never gives up, whatever is away. A worker starts its own
        # engines.
        ours = embedded.own_engines()
        if process == "web":
            port = ports.claim(port, host)
            if ours["postgres"]:
                reach()
        if not ours["valkey"]:
            ringer.reach_valkey()
        if process == "web":
            ports.announce(settings.AGUI_DATA_DIR, port)
        deployed.become(
            deployed.Order(
                process=process,
                host=host,
                port=port,
                grace=settings.AGUI_WORKER_GRACE,
                cancelling=settings.AGUI_CANCEL_GRACE,
                liveness=settings.AGUI_LIVENESS_SECONDS,
            ),
            session_parameters() if process == "worker" else {},
        )
