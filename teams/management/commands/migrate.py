"""``manage.py migrate``: Django's, and behind it the roles and policies of row-level security."""

from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from teams import row_security


class Command(migrate.Command):
    """Django's own, with one more step."""

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options)
        if options["plan"] or options["check_unapplied"]:
            return
        if options["database"] == DEFAULT_DB_ALIAS and (reason := row_security.apply()):
            self.stderr.write(
                f"Row-level security is off, only the host's own scoping by team is on: {reason}\n"
                "docs/operations.md#roles says how an administrator makes the roles."
            )
