"""``manage.py legal_hold TEAM [THREAD] [--release]``: protect it from purging and erasure."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from agui_host.teams import audit
from agui_host.teams.models import Team
from runs.models import Thread


class Command(BaseCommand):
    """``manage.py legal_hold``."""

    help = "Put a team, or one of its threads, under legal hold, or release it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", help="The team's slug.")
        parser.add_argument("thread", nargs="?", help="A thread's name; without one the team.")
        parser.add_argument("--release", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"There is no team {options['team']}.")
        target: Team | Thread | None = team
        if options["thread"]:
            target = Thread.objects.for_team(team).filter(thread_id=options["thread"]).first()
        if target is None:
            raise CommandError(f"This team has no thread {options['thread']}.")
        target.legal_hold = not options["release"]
        with transaction.atomic():
            target.save(update_fields=["legal_hold"])
            act = "hold.placed" if target.legal_hold else "hold.released"
            audit.record("operator", team, act, str(target.pk))
        self.stdout.write(f"{target}: {'held' if target.legal_hold else 'released'}")
