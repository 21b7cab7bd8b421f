"""``manage.py export_person PERSON``: all that the host has about a person, as NDJSON."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.access.people import export
from runs.management.person import find


class Command(BaseCommand):
    """``manage.py export_person``."""

    help = "Print all data about a person, a JSON object a line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", help="a login, or a verified e-mail address")

    def handle(self, *args: Any, **options: Any) -> None:
        for line in export.lines(find(options["person"])):
            self.stdout.write(line, ending="")
