"""``manage.py export_person PERSON``: all that the host has about a person, as NDJSON."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from runs.access.people import export
from runs.management.person import find


class Command(BaseCommand):
    """``manage.py export_person``."""

    help = "Print all data about a person, a JSON object a line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", help="a login, or a verified e-mail address")

    def handle(self, *args: Any, **options: Any) -> None:
        for record in export.records(find(options["person"])):
            self.stdout.write(json.dumps(record, cls=DjangoJSONEncoder, ensure_ascii=False))
