"""``manage.py conformance_report``: how often each agent broke which rule of AG-UI."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agui_host.runtimes.models import Agent
from runs.worker.findings import report


class Command(BaseCommand):
    """``manage.py conformance_report``."""

    help = "Count the faults in agents' events over all stored runs, by rule and action."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", help="A team's slug.")
        parser.add_argument("--agent", help="An agent's slug.")

    def handle(self, *args: Any, **options: Any) -> None:
        agents = Agent.objects.for_operators().select_related("team").order_by("team__slug", "slug")
        if options["team"]:
            agents = agents.filter(team__slug=options["team"])
        if options["agent"]:
            agents = agents.filter(slug=options["agent"])
        for agent in agents:
            rows = report(agent)
            self.stdout.write(f"{agent.team.slug}/{agent.slug}" + ("" if rows else ": nothing"))
            for row in rows:
                self.stdout.write(f"  {row.times:>7} × {row.rule} {row.action}, {row.runs} runs")
