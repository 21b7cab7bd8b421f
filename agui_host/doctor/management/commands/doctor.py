"""``manage.py doctor``: is this installation sound?"""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from agui_host.backends.postgres import scope
from agui_host.doctor import findings


class Command(BaseCommand):
    """Prints a line for each check, and exits with 1 if one of them has found a fault."""

    help = "Check this installation, and explain each fault with its remedy."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        faults = 0
        with scope.everywhere():
            for finding in findings.examine():
                faults += len(finding.faults)
                for line in finding.lines():
                    self.stdout.write(line)
                self.stdout.flush()
        if faults:
            self.stderr.write(f"{faults} faults." if faults > 1 else "1 fault.")
            sys.exit(1)
