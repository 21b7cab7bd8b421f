"""``manage.py migrate``: Django's, then our functions in PostgreSQL, then roles and policies."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from agui_host.backends import epochs
from agui_host.backends.postgres.functions import install
from agui_host.backends.postgres.functions.sql_files import APPS
from agui_host.teams import row_security
from agui_host.teams.management import patience

AFTER: list[Callable[[], object]] = []
"""Steps of other rooms after a migration of everything; each can be done again."""
TOO_OLD = (
    "This database was made by a checkout from before 2026-11-27. Check out fef7c667, let its"
    " `migrate` finish, and come back; or use another database, without DATABASE_URL another"
    " AGUI_DATA_DIR."
)


class Command(migrate.Command):
    """Django's own, with one more step, and an operator's declaration after a restore."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--restored",
            action="store_true",
            help="begin a new epoch: this database is a restored backup, so readers start again",
        )

    def handle(self, *args: Any, restored: bool = False, **options: Any) -> None:
        self.alias = alias = options["database"]
        if _is_too_old(alias):
            raise CommandError(TOO_OLD)
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        patience.patiently(alias, lambda: super(Command, self).handle(*args, **options), self.say)
        patience.patiently(alias, lambda: self._finish(**options), self.say)
        if restored:
            self.stdout.write(f"The database's history has a new epoch: {epochs.begin()}.")

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Let indexes that are made without a transaction wait: they block nobody."""
        if action == "apply_start" and migration is not None:
            patience.limit(self.alias, patience.WAITS if migration.atomic else "0")
        super().migration_progress_callback(action, migration, fake)

    def say(self, line: str) -> None:
        """Write a line of progress."""
        self.stderr.write(line)

    def _finish(self, **options: Any) -> None:
        if options["database"] == DEFAULT_DB_ALIAS and _is_newest(options["database"]):
            self._install_functions(options["verbosity"])
        if options["database"] == DEFAULT_DB_ALIAS and (reason := row_security.apply()):
            self.stderr.write(
                f"Row-level security is off, only the host's own scoping by team is on: {reason}\n"
                "docs/operations.md#roles explains how an administrator makes the roles."
            )
        if options["database"] == DEFAULT_DB_ALIAS and not options["app_label"]:
            for step in AFTER:
                step()

    def _install_functions(self, verbosity: int) -> None:
        changes = install.install()
        if verbosity and changes.installed:
            self.stdout.write(f"Functions and triggers installed: {len(changes.installed)}")
        if verbosity and changes.dropped:
            self.stdout.write(f"Functions and triggers dropped: {', '.join(changes.dropped)}")


def _is_newest(alias: str) -> bool:
    """Whether exactly our migrations are applied: our functions need the tables of all of them.

    In the database of a newer release, its functions stay.
    """
    loader = MigrationLoader(connections[alias])
    known = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    known |= loader.disk_migrations.keys()
    applied = loader.applied_migrations.keys()
    newer = {key for key in applied - known if key[0] in APPS}
    return loader.graph.nodes.keys() <= applied and not newer


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
