"""``manage.py delete_team SLUG --yes``: erase a team with everything in it."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agui_host.teams.models import Team
from runs.lifecycle.deletion import erasure
from runs.lifecycle.deletion.erasure import LegalHold, TeamBusy


class Command(BaseCommand):
    """``manage.py delete_team``."""

    help = "Erase a team: its threads, runs, agents, keys, members' roles and audit log."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--yes", action="store_true", help="Confirm: this cannot be undone.")
        parser.add_argument("--wait", type=float, default=60, help="Seconds for runs to end.")

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["slug"]).first()
        if team is None:
            raise CommandError(f"There is no team {options['slug']}.")
        if not options["yes"]:
            raise CommandError(f"This erases {team} permanently; add --yes to confirm.")
        until = time.monotonic() + options["wait"]
        while True:
            try:
                return erasure.erase_team(team)
            except LegalHold as error:
                raise CommandError(error.message) from None
            except TeamBusy as error:
                if time.monotonic() >= until:
                    raise CommandError(error.message) from None
                time.sleep(0.5)
