"""``manage.py seed_demo``: runs to look at, in the demo team or another one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agui_host.protocol.errors import HostError
from agui_host.runtimes.demo import NAME, ensure_demo
from agui_host.teams.models import Team
from runs.lifecycle import interrupts
from runs.seed import nasty, said, watched
from runs.seed.play import perform


class Command(BaseCommand):
    """``manage.py seed_demo``."""

    help = (
        "Store runs to look at the pages with: failures of yesterday and last month, questions, "
        "20,000 events, 60 tool calls, nested subagents, 200 keys of state, right-to-left text, "
        "comments with mentions, thumbs, shares, budgets, alerts, a data set. "
        "Their agents are made disabled."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", help="A team's slug; by default the demo team's.")
        parser.add_argument("--nasty", action="store_true", required=True,
                            help="The only kind there is.")  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["team"]:
            team = Team.objects.filter(slug=options["team"], archived_at=None).first()
            if team is None:
                raise CommandError(f"There is no team {options['team']}.")
        else:
            ensure_demo()
            team = Team.objects.get(slug=NAME)
        now, runs = timezone.now(), []
        for play in nasty.plays():
            try:
                run = perform(team, play, now)
                runs.append(run)
            except HostError as error:
                raise CommandError(f"{play.thread}: {error.message}") from None
            self.stdout.write(f"{run.pk}  {play.agent}  {play.thread[:40]}")
        said.say(team, runs[::2])
        watched.watch(team, runs)
        interrupts.expire()
