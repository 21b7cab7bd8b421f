"""``manage.py recount_usage``: the usage of teams, made again from their runs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui_host.backends.postgres.deadlines import LONGEST, allowing
from agui_host.teams.models import Team
from runs.lifecycle.usage import rollup


class Command(BaseCommand):
    """``manage.py recount_usage [TEAM …]``."""

    help = "Add up the usage of teams (all of them without a name) again, from their runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slugs", nargs="*", metavar="TEAM", help="the team's short name")

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = set(options["slugs"])
        teams = Team.objects.filter(slug__in=slugs) if slugs else Team.objects.all()
        rows = list(teams.order_by("slug").values_list("pk", "slug"))
        if unknown := slugs - {slug for _, slug in rows}:
            raise CommandError(f"There is no team {', '.join(sorted(unknown))}.")
        with allowing(LONGEST):
            for team_id, slug in rows:
                self.stdout.write(f"{slug}: {rollup.recount(team_id):,} ended runs")
