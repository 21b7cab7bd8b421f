"""``manage.py migrate``: Django's, and behind it the roles and policies of row-level security."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from backends import epochs
from teams import row_security

AFTER: list[Callable[[], object]] = []
"""Steps of other rooms after a migration of everything; each can be done again."""
TOO_OLD = (
    "This database was made by a checkout of before 2026-11-22 that was not the newest of its time;"
    " its data cannot be carried over. Use another database, or without DATABASE_URL another"
    " AGUI_DATA_DIR."
)


class Command(migrate.Command):
    """Django's own, with one more step, and what an operator has to say after a restore."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--restored",
            action="store_true",
            help="begin a new epoch: this database is a restored backup, so readers start again",
        )

    def handle(self, *args: Any, restored: bool = False, **options: Any) -> None:
        if _is_too_old(options["database"]):
            raise CommandError(TOO_OLD)
        super().handle(*args, **options)
        if options["plan"] or options["check_unapplied"]:
            return
        if options["database"] == DEFAULT_DB_ALIAS and (reason := row_security.apply()):
            self.stderr.write(
                f"Row-level security is off, only the host's own scoping by team is on: {reason}\n"
                "docs/operations.md#roles says how an administrator makes the roles."
            )
        if options["database"] == DEFAULT_DB_ALIAS and not options["app_label"]:
            for step in AFTER:
                step()
        if restored:
            self.stdout.write(f"The database's history has a new epoch: {epochs.begin()}.")


def _is_too_old(alias: str) -> bool:
    """Whether it has some of the migrations that a squashed one replaces, but not all.

    Django would look for the rest, which are no more.
    """
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    loader = MigrationLoader(connections[alias], load=False)
    loader.load_disk()
    for migration in loader.disk_migrations.values():
        gone = [key for key in migration.replaces if key not in loader.disk_migrations]
        if 0 < sum(key in applied for key in gone) < len(gone):
            return True
    return False
