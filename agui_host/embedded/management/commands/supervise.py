"""``manage.py supervise``: one process of a deployment, started again when it dies or hangs."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agui_host.backends import ringer
from agui_host.backends.postgres.reach import reach
from agui_host.embedded import embedded, ports, supervisor, systemd
from agui_host.embedded.management import deaths


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
        ready = systemd.readiness()
        # Only at the start: later it never gives up, whatever is away. A worker starts its own
        # engines.
        ours = embedded.own_engines()
        if process == "web":
            port = ports.claim(port, host)
            if ours["postgres"]:
                reach()
        if not ours["valkey"]:
            ringer.reach_valkey()
        worker = supervisor.worker(settings.AGUI_WORKER_GRACE, settings.AGUI_CANCEL_GRACE)
        supervised = supervisor.Supervisor(
            [worker if process == "worker" else supervisor.web(port, host)],
            lambda text: self.stderr.write(f"supervise: {text}"),
            env=supervisor.environment(),
            liveness=settings.AGUI_LIVENESS_SECONDS,
            on_life=ready,
            on_death=deaths.bury,
        )
        supervised.listen()
        supervised.start()
        try:
            supervised.run()
        finally:
            supervised.stop()
            deaths.settle()
