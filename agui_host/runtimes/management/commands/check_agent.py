"""``manage.py check_agent URL|slug``: run an agent once and say how well it speaks AG-UI."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agui_host.protocol.errors import RunFailed

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent

VERDICTS = {
    "conforms": "conforms: a stock client reads this stream as it is",
    "repaired": "repaired: a stock client reads this stream because the host mends it",
    "fails": "fails: {failure}",
}


class Command(BaseCommand):
    """``manage.py check_agent``."""

    help = "Run an agent once and print its events and the rules of AG-UI that it broke."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent", help="An agent's slug, or an AG-UI endpoint's URL.")
        parser.add_argument(
            "--team", help="Whose agent it is, by slug; without it, an agent in this host's code."
        )
        parser.add_argument("--message", default="Hello", help="What the user says.")
        parser.add_argument("--timeout", type=float, default=60.0, help="Seconds for the run.")
        parser.add_argument(
            "--header", action="append", default=[], help="Sent to the URL, as 'Name: value'."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with 1 if an event could not be mended."""
        from agui_host.runtimes import conformance

        agent, body = options["agent"], conformance.body(options["message"])
        alone = agent.startswith(("http://", "https://"))
        events: AsyncGenerator[Any, None]
        try:
            if alone:
                events = conformance.remote(agent, body, _headers(options["header"]))
            elif options["team"]:
                events = conformance.stored(_row(options["team"], agent), body)
            else:
                events = conformance.local(agent, body)
        except RunFailed as failed:
            hint = "" if alone or options["team"] else " Add --team TEAM for an agent of a team."
            raise CommandError(failed.message + hint) from None
        # Not asyncio.run, which waits for every task: an agent can swallow its cancellation.
        loop = asyncio.new_event_loop()
        try:
            report = loop.run_until_complete(
                conformance.judge(events, body, alone=alone, timeout=options["timeout"])
            )
        finally:
            loop.close()
        self._table("events", dict(sorted(report.events.items())))
        named = {f"{rule} {action}": n for (rule, action), n in sorted(report.findings.items())}
        self._table("findings", named)
        verdict = VERDICTS[report.verdict].format(failure=report.failure)
        style = self.style.ERROR if report.failure else self.style.SUCCESS
        self.stdout.write(f"verdict\n  {style(verdict)}")
        if report.failure:
            sys.exit(1)

    def _table(self, title: str, counts: Mapping[str, int]) -> None:
        self.stdout.write(title)
        for name, count in counts.items():
            self.stdout.write(f"  {name:32} {count:>8}")
        if not counts:
            self.stdout.write("  none")


def _row(team: str, slug: str) -> "Agent":
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team

    try:
        return Agent.objects.for_team(Team.objects.get(slug=team)).get(slug=slug)
    except Team.DoesNotExist:
        raise CommandError(f"There is no team {team!r}.") from None
    except Agent.DoesNotExist:
        raise CommandError(f"Team {team!r} has no agent {slug!r}.") from None


def _headers(lines: list[str]) -> dict[str, str]:
    pairs = [line.partition(":") for line in lines]
    if not all(colon for _, colon, _ in pairs):
        raise CommandError("Write a --header as 'Name: value'.")
    return {name.strip(): value.strip() for name, _, value in pairs}
