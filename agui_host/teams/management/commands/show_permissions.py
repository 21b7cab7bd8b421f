"""``manage.py show_permissions``: the role table, as in docs/permissions.md."""

from typing import Any

from django.core.management.base import BaseCommand

from agui_host.teams import permissions


class Command(BaseCommand):
    """``manage.py show_permissions``."""

    help = "Print the table of roles and actions as Markdown."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(permissions.as_markdown(), ending="")
