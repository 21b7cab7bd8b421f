"""``manage.py remove_abandoned``: embedded databases whose data directory is gone."""

import datetime
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui_host.embedded import abandoned


class Command(BaseCommand):
    """Lists them; removes them with --yes."""

    help = (
        "List the embedded databases that starts as root keep outside of their data directory and "
        "whose data directory is gone; --yes removes them. A directory that was moved, or is not "
        "mounted, looks gone: start it once, or mount it, first."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="remove the listed databases")
        parser.add_argument(
            "--unknown",
            action="store_true",
            help="also those of earlier versions, whose data directory is unknown",
        )

    def handle(self, *, yes: bool, unknown: bool, **options: Any) -> None:
        listed = [each for each in abandoned.clusters() if unknown or each.data]
        total = 0
        for cluster in listed:
            used = datetime.datetime.fromtimestamp(cluster.used, datetime.UTC)
            size = cluster.size()
            total += size
            whose = cluster.data or "(unknown)"
            self.stdout.write(f"{cluster.place}  {_mb(size)}  last used {used:%F}  of {whose}")
            if yes:
                try:
                    cluster.remove()
                except OSError as error:
                    raise CommandError(f"{cluster.place}: {error.strerror}") from None
        if not listed:
            self.stdout.write("Nothing is abandoned.")
            return
        self.stdout.write(
            f"Removed, {_mb(total)}." if yes else f"{_mb(total)}. --yes removes them."
        )


def _mb(size: int) -> str:
    return f"{size / 1_000_000:.0f} MB"
