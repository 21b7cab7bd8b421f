"""``manage.py apply FILE``: make the host as a file describes it."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from agui_host.apply import export
from agui_host.apply.application import applied
from agui_host.apply.document import read
from agui_host.backends.postgres import scope
from agui_host.protocol.errors import HostError


class Command(BaseCommand):
    """Plans, applies or exports."""

    help = "Make teams, people, keys, agents and rules as a YAML file describes them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", help="the file; - reads standard input")
        either = parser.add_mutually_exclusive_group()
        either.add_argument("--plan", action="store_true", help="only print what would change")
        either.add_argument("--export", action="store_true", help="print the present state")
        parser.add_argument(
            "--keys",
            help="the file that new keys and secrets are added to; by default FILE.keys",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Everything is applied, or nothing. Exits with 1 and a line that names the mistake."""
        with scope.everywhere():
            if options["export"]:
                self.stdout.write(export.text(), ending="")
                return
            if not options["file"]:
                raise CommandError("name a file, or --export")
            self._apply(options["file"], options["plan"], options["keys"])

    def _apply(self, file: str, plan: bool, secrets: str | None) -> None:
        try:
            document = read(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
            with transaction.atomic():
                changes = applied(document)
                if plan:
                    transaction.set_rollback(True)
                elif changes.secrets:
                    store = Path(secrets or f"{'host' if file == '-' else file}.keys")
                    _keep(store, changes.secrets)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
        except HostError as error:
            raise CommandError(error.message) from None
        for line in (*changes.lines, *changes.notes):
            self.stdout.write(line)
        many = len(changes.lines)
        if plan:
            self.stdout.write(f"{many} changes, none of them made." if many else "No changes.")
            return
        for call in changes.afterwards:
            try:
                call()
            except HostError as error:
                self.stderr.write(error.message)
        self.stdout.write(f"{many} changes." if many else "No changes.")
        if changes.secrets:
            self.stdout.write(f"{len(changes.secrets)} keys and secrets were added to {store}.")


def _keep(path: Path, lines: list[str]) -> None:
    """Add the lines to a file that only this account reads, and wait until they are on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
