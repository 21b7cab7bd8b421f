"""``manage.py create_key TEAM NAME``: an API key of a team, printed once."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui_host.backends.postgres import clock
from agui_host.protocol.errors import HostError
from agui_host.teams import keys
from agui_host.teams.models import Role, Scope, Team


class Command(BaseCommand):
    """``manage.py create_key``."""

    help = "Create an API key for a team. It is printed once; only its hash is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", metavar="TEAM", help="the team's slug")
        parser.add_argument("name", metavar="NAME", help="the key's purpose")
        parser.add_argument("--role", choices=Role.values, default=str(Role.MEMBER))
        parser.add_argument("--scopes", nargs="+", choices=Scope.values, default=list(Scope.values))
        parser.add_argument(
            "--days", type=int, help="how long it works; by default it never expires"
        )

    def handle(self, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"There is no team {options['team']!r}.")
        days: int | None = options["days"]
        expires = None if days is None else clock.now() + timedelta(days=days)
        try:
            _, key = keys.create_key(
                team, options["name"], Role(options["role"]), None, expires,
                scopes=options["scopes"],
            )  # fmt: skip
        except HostError as error:
            raise CommandError(error.message) from error
        self.stdout.write(key)
