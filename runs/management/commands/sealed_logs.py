"""``manage.py sealed_logs [--delete-unknown]``: compares sealed logs with the file store."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from events.sealed import audit


class Command(BaseCommand):
    """``manage.py sealed_logs``."""

    help = "Count the objects with sealed logs; list missing objects and those without a row."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--delete-unknown",
            action="store_true",
            help="Delete the objects without a row: after a restore, if no later backup is needed.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = audit.run()
            self.stdout.write(f"{result.objects} objects")
            for key in result.missing:
                self.stdout.write(f"missing: {key}")
            for key in result.unknown:
                self.stdout.write(f"without a row: {key}")
            if options["delete_unknown"]:
                audit.delete(result.unknown)
                self.stdout.write(f"deleted: {len(result.unknown)}")
        except OSError as error:
            raise CommandError(f"The file store failed: {error}") from error
        if result.missing:
            raise CommandError("Objects are missing: docs/operations.md#backups")
