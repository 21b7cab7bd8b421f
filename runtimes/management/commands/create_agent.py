"""``manage.py create_agent``: give a team an agent, for operators (docs/howto-process.md)."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from runtimes.kinds.process.command import Command as CommandLine
from runtimes.kinds.process.command import is_there
from runtimes.kinds.table import RUNTIMES
from runtimes.models import DEFAULT_QUEUE, Agent
from teams import audit
from teams.models import Team


class Command(BaseCommand):
    """Makes the agent, or changes the one with that slug."""

    help = "Create an agent of any kind for a team, or change the one with that slug."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Team and slug are enough for an agent in code."""
        parser.add_argument("--team", required=True, help="the team's slug")
        parser.add_argument("--slug", required=True)
        parser.add_argument("--kind", choices=sorted(RUNTIMES), default="python")
        parser.add_argument("--name", help="the name that people read; by default the slug")
        parser.add_argument(
            "--target", default="", help="what the runtime runs, if its kind needs a target"
        )
        parser.add_argument("--timeout", type=float, help="seconds; by default AGUI_RUN_TIMEOUT")
        parser.add_argument(
            "--repeatable",
            action="store_true",
            help="start a run again from its beginning if its worker is lost or stopped",
        )
        parser.add_argument(
            "--queue",
            default=DEFAULT_QUEUE,
            help="its runs are executed by the workers that serve this queue",
        )
        parser.add_argument(
            "--file", help="its settings: a file with a JSON object; - reads standard input"
        )

        parser.add_argument(
            "--unconfined",
            action="store_true",
            help="allow the command to do everything that the worker's account can",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with 1, and the reason, if the agent could not run."""
        slug = options["slug"]
        fields = {
            "kind": options["kind"],
            "name": options["name"] or slug,
            "target": options["target"],
            "timeout_seconds": options["timeout"],
            "repeatable": options["repeatable"],
            "queue": options["queue"],
            "settings": _settings(options["file"]),
        }
        if options["unconfined"]:
            if options["kind"] != "process" or not isinstance(fields["settings"], dict):
                raise CommandError("--unconfined is for --kind process")
            fields["settings"]["unconfined"] = True
        with transaction.atomic():
            try:
                team = Team.objects.get(slug=options["team"])
                agent = Agent.objects.for_team(team).filter(slug=slug).first()
                verb = "changed" if agent else "created"
                agent = agent or Agent(team=team, slug=slug)
                for name, value in fields.items():
                    setattr(agent, name, value)
                agent.full_clean()
            except Team.DoesNotExist:
                raise CommandError(f"there is no team {options['team']!r}") from None
            except ValidationError as bad:
                raise CommandError("; ".join(bad.messages)) from None
            agent.save()
            audit.record("operator", team, f"agent.{verb}", slug, kind=agent.kind)
        self.stdout.write(f"{verb}: {slug} ({agent.kind}) of {team.slug}")
        if agent.kind == "process":
            self._look_for_program(agent.settings)

    def _look_for_program(self, settings: Any) -> None:
        command = CommandLine.of(settings)
        env = command.environment("", "")
        for argv in filter(None, (command.argv, command.resume_argv)):
            # A path relative to the run's own directory can only be checked there.
            own = "/" in argv[0] and not argv[0].startswith("/")
            if not own and not is_there(argv[0], env, ""):
                self.stderr.write(
                    f"warning: the program {argv[0]!r} is not on the PATH here, or is not "
                    "executable; a worker without it ends this agent's runs with process_exit"
                )
                return


def _settings(path: str | None) -> Any:
    if path is None:
        return {}
    try:
        return json.loads(sys.stdin.read() if path == "-" else Path(path).read_text())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}") from None
