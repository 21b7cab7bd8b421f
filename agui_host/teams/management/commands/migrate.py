"""``manage.py migrate``: Django's, then our functions in PostgreSQL, then roles and policies."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS
from django.db.migrations import Migration

from agui_host.backends import epochs
from agui_host.backends.postgres.functions import install
from agui_host.teams import row_security
from agui_host.teams.management import patience, recorded

AFTER: list[Callable[[], object]] = []
"""Steps of other rooms after a migration of everything; each can be done again."""


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
        if recorded.is_in_between(alias):
            raise CommandError(f"{recorded.IN_BETWEEN} {recorded.FIRST}")
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return

        def step(waits: str) -> None:
            self.waits = waits
            super(Command, self).handle(*args, **options)

        patience.patiently(alias, step, self.say)
        patience.patiently(alias, lambda _: self._finish(**options), self.say)
        if restored:
            self.stdout.write(f"The database's history has a new epoch: {epochs.begin()}.")

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Let indexes that are made without a transaction wait: they block nobody."""
        if action == "apply_start" and migration is not None:
            patience.limit(self.alias, self.waits if migration.atomic else "0")
        super().migration_progress_callback(action, migration, fake)

    def say(self, line: str) -> None:
        """Write a line of progress."""
        self.stderr.write(line)

    def _finish(self, **options: Any) -> None:
        if options["database"] == DEFAULT_DB_ALIAS and recorded.is_newest(options["database"]):
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
