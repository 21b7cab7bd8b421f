"""``manage.py bury_worker``: end at once the runs of a worker that died; for its supervisor."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agui_host.embedded.management import deaths


class Command(BaseCommand):
    """``manage.py bury_worker``."""

    help = "End the registration and the runs of a worker that is dead, which its caller knows."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("worker", type=int, help="the number of its registration")

    def handle(self, *, worker: int, **options: Any) -> None:
        deaths.bury_now(worker)
