"""``manage.py migrate``: Django's, and behind it the roles and policies of row-level security."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS
from django.db.migrations.exceptions import NodeNotFoundError

from teams import row_security

TOO_OLD = (
    "This database was made by a checkout of before 2026-11-22 that was not the newest of its time;"
    " its data cannot be carried over. Use another database, or without DATABASE_URL another"
    " AGUI_DATA_DIR."
)


class Command(migrate.Command):
    """Django's own, with one more step."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            super().handle(*args, **options)
        except NodeNotFoundError as error:  # some of the migrations that ours replace, but not all
            raise CommandError(TOO_OLD) from error
        if options["plan"] or options["check_unapplied"]:
            return
        if options["database"] == DEFAULT_DB_ALIAS and (reason := row_security.apply()):
            self.stderr.write(
                f"Row-level security is off, only the host's own scoping by team is on: {reason}\n"
                "docs/operations.md#roles says how an administrator makes the roles."
            )
