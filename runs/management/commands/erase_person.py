"""``manage.py erase_person PERSON --yes``: erase a person, wherever the host names them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agui_host.protocol.errors import HostError
from runs.access.people import erasure
from runs.management.person import find


class Command(BaseCommand):
    """``manage.py erase_person``."""

    help = "Erase a person: account, private threads, comments; teams' records lose the name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", help="a login, or a verified e-mail address")
        parser.add_argument("--yes", action="store_true", help="Confirm: this cannot be undone.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = find(options["person"])
        if not options["yes"]:
            raise CommandError(f"This erases {user} permanently; add --yes to confirm.")
        try:
            pseudonym = erasure.erase(user, "operator")
        except HostError as error:
            where = "".join(f" ({name}: {value})" for name, value in error.details.items())
            raise CommandError(f"{error.message}{where}") from None
        self.stdout.write(pseudonym)
